"""A plan has the steps and figures of the scenarios, and names what is in the way."""

import pytest
from tests.core.sizes.vmkit import Json, started, vm

from flexlet.api.quantity import Quantity
from flexlet.core.sizes.vmplan import Circumstances, Plan, objections, plan
from flexlet.core.sizes.vmresize import Wish
from flexlet.core.vm.settings import Settings


def planned(vcpus: int | None = None, memory: str = "", free: str = "20Gi", domain: Json | None = None) -> Plan:
    """A wish for the machine `db` that runs on a node with so much free memory and 4 CPUs."""
    found = vm(domain=domain)
    wish = Wish(vcpus=vcpus, memory=Quantity.parse(memory) if memory else None)
    headroom = {"cpu": Quantity.parse("4"), "memory": Quantity.parse(free)}
    return plan(found, wish, Circumstances(machine=started(found), headroom=headroom))


def told(found: Plan) -> list[str]:
    return [f"{step.what}: {step.text()}" for step in found.steps]


GROW = [
    "pod: cpu 400m -> 800m, memory 8520Mi -> 8552Mi",
    "guest: vcpus 4 -> 8",
    "pod: memory 8552Mi -> 16760Mi",
    "guest: memory 8Gi -> 16Gi",
]
SHRINK = ["guest: memory 8Gi -> 4Gi", "pod: memory 8520Mi -> 4416Mi"]
MIXED = [
    "pod: cpu 400m -> 800m, memory 8520Mi -> 8552Mi",
    "guest: vcpus 4 -> 8",
    "guest: memory 8Gi -> 4Gi",
    "pod: memory 8552Mi -> 4448Mi",
]


@pytest.mark.parametrize(
    ("vcpus", "memory", "steps"),
    [(8, "16Gi", GROW), (None, "4Gi", SHRINK), (8, "4Gi", MIXED), (4, "8Gi", []), (4, "", [])],
)
def test_steps_are_those_of_the_scenarios(vcpus: int | None, memory: str, steps: list[str]) -> None:
    """Numbers 1, 5 and 9."""
    found = planned(vcpus, memory)
    assert (told(found), found.verdict, found.reasons) == (steps, "InPlace" if steps else "Unchanged", ())


HIGHER = "to a value higher than what's available"
LOWER = "to a value lower than what the VM started with"


@pytest.mark.parametrize(
    ("vcpus", "memory", "verdict", "reasons"),
    [
        (8, "16Gi", "Deferred", ("memory: the pod needs 8.047Gi more, and its node has 6Gi free",)),
        (None, "1Gi", "RestartRequired", (f"memory updated in template spec {LOWER}",)),
        (20, "", "RestartRequired", (f"CPU sockets updated in template spec {HIGHER}",)),
        (None, "64Gi", "RestartRequired", (f"memory updated in template spec {HIGHER}",)),
    ],
)
def test_what_is_in_the_way(vcpus: int | None, memory: str, verdict: str, reasons: tuple[str, ...]) -> None:
    """Numbers 2, 7, 10 and 11."""
    found = planned(vcpus, memory, free="6Gi")
    assert (found.verdict, found.reasons) == (verdict, reasons)


def test_a_size_that_no_guest_can_have() -> None:
    """Number 20."""
    found = planned(memory="8193Mi")
    assert found.verdict == "Invalid"
    assert "Guest memory must be 2Mi aligned: use 8Gi or 8194Mi" in found.reasons[0]
    assert objections(vm(), Wish(memory=Quantity.parse("8193Mi")), Settings()) == found.reasons
    assert objections(vm(), Wish(vcpus=5), Settings()) == ()


def test_huge_pages_stay_while_vcpus_come() -> None:
    """Number 13."""
    pages = {"memory": {"guest": "8Gi", "minGuest": "4Gi", "maxGuest": "16Gi", "hugepages": {"pageSize": "2Mi"}}}
    found = planned(8, "", domain=pages)
    assert found.verdict == "InPlace"
    found = planned(None, "16Gi", domain=pages)
    assert (found.verdict, found.reasons[0].partition(":")[0]) == ("NotResizable", "HugepagesInPlace")


def test_a_machine_that_does_not_run_takes_any_size() -> None:
    found = plan(vm(printableStatus="Stopped"), Wish(vcpus=20), Circumstances())
    assert (found.verdict, found.reasons) == (
        "Stopped",
        ("the machine does not run; it will start with this size",),
    )
