"""What is written for a wish, and what became of it."""

from typing import Any

import pytest
from tests.core.sizes.vmkit import vm

from flexlet.api.quantity import Quantity
from flexlet.core.sizes.vmresize import Wish, outcome, patch, patched
from flexlet.core.sizes.vms import vcpus_wanted
from flexlet.core.sizes.wish import Outcome
from flexlet.core.vm import names
from flexlet.errors import ConfigError

WISH = Wish(vcpus=8, memory=Quantity.parse("16Gi"))


def domain(cpu: dict[str, int], wish: Wish) -> Any:
    return patch(vm(domain={"cpu": cpu}), wish)["spec"]["template"]["spec"]["domain"]


def test_the_knob_is_the_one_that_the_machine_uses() -> None:
    """Whole sockets, unless the machine counts vCPUs; what is not asked for is not written."""
    assert domain({"sockets": 4}, WISH) == {"cpu": {"sockets": 8}, "memory": {"guest": "16Gi"}}
    assert domain({"vcpus": 4}, Wish(vcpus=6)) == {"cpu": {"vcpus": 6}}
    assert domain({"sockets": 1, "cores": 2, "threads": 2}, Wish(vcpus=8)) == {"cpu": {"sockets": 2}}
    assert domain({}, Wish(memory=Quantity.parse("1Gi"))) == {"memory": {"guest": "1Gi"}}
    assert patch(vm(), Wish(vcpus=1), "now")["metadata"] == {"annotations": {names.REQUESTED: "now"}}
    grown = patched(vm(), WISH)
    assert (vcpus_wanted(grown), str(grown.spec.template.spec.domain.memory.guest)) == (8, "16Gi")
    assert grown.spec.template.spec.domain.memory.max_guest == Quantity.parse("16Gi")


def test_half_a_socket_is_refused_with_what_to_ask_for() -> None:
    with pytest.raises(ConfigError) as refused:
        domain({"sockets": 2, "cores": 4}, Wish(vcpus=6))
    assert str(refused.value) == (
        "VM db cannot have 6 vCPUs: its sockets have 4 vCPUs each (cores x threads), and only whole sockets come"
        " and go; ask for 4 or 8"
    )


def holds(kind: str, message: str, reason: str = "") -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": "True", "reason": reason, "message": message}]}


UNSEEN = Outcome("Waiting", "Pending", "the controllers have not looked at it yet")


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"observedGeneration": 0}, UNSEEN),
        ({"resize": {"phase": "Done", "request": "before"}}, UNSEEN),
        ({}, UNSEEN),
        (
            {"resize": {"phase": "PodGrowing", "request": "now", "message": "pod to cpu 800m"}},
            Outcome("Waiting", "PodGrowing", "pod to cpu 800m"),
        ),
        (
            {"resize": {"phase": "GuestChanging", "request": "now", "message": "4 of 8 vCPUs"}},
            Outcome("Waiting", "GuestChanging", "4 of 8 vCPUs"),
        ),
        (
            {"resize": {"phase": "PodDeferred", "request": "now", "message": "no room"}},
            Outcome("Refused", "Deferred", "no room"),
        ),
        ({"resize": {"phase": "Done", "request": "now"}}, Outcome("Done", "InForce")),
        ({"resize": {"phase": "Idle", "request": "now"}}, Outcome("Done", "InForce")),
        (
            {"resize": {"phase": "Done", "request": "now"}} | holds("PartiallyResized", "5.5Gi of 4Gi", "Unplug"),
            Outcome("Refused", "Unplug", "5.5Gi of 4Gi"),
        ),
        (
            {"resize": {"phase": "Failed", "request": "now", "setbacks": [{"reason": "QuotaExceeded"}]}},
            Outcome("Refused", "QuotaExceeded", ""),
        ),
        (
            {
                "resize": {
                    "phase": "Failed",
                    "request": "now",
                    "setbacks": [{"reason": "PlugFailed", "message": "no slot"}],
                }
            },
            Outcome("Failed", "PlugFailed", "no slot"),
        ),
        ({"resize": {"phase": "Failed", "request": "now", "message": "?"}}, Outcome("Failed", "Failed", "?")),
        (holds("RestartRequired", "higher than what's available"), None),
        (
            {"printableStatus": "Stopped"},
            Outcome("Done", "Stopped", "the machine does not run; it will start with this size"),
        ),
    ],
)
def test_how_far_it_is(status: dict[str, Any], found: Outcome | None) -> None:
    refused = Outcome("Refused", "RestartRequired", "higher than what's available")
    assert outcome(vm(requested="now", **status)) == (found or refused)
