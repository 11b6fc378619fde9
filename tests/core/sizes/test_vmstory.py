"""What a machine waits for, in each phase."""

from typing import Any

import pytest
from tests.core.sizes.vmkit import value

from flexlet.api import decode
from flexlet.api.quantity import Quantity
from flexlet.core.sizes.vmstory import Known, waits_for
from flexlet.core.vm.objects import FlexVM

POD = {"desired": {"cpu": "800m", "memory": "16760Mi"}, "allocated": {"cpu": "800m", "memory": "8552Mi"}}


def waits(phase: str, policy: dict[str, str] | None = None, free: str = "", **status: Any) -> str:
    found = value(resize={"phase": phase}, pod=POD, **status)
    found["spec"]["resizePolicy"] = policy or {}
    headroom = {"cpu": Quantity.parse("4"), "memory": Quantity.parse(free)} if free else None
    return waits_for(Known(vm=decode.from_value(found, FlexVM), headroom=headroom))


@pytest.mark.parametrize(
    ("phase", "text"),
    [
        ("Idle", "nothing"),
        ("Done", "nothing"),
        ("PodGrowing", "the node, to grant the pod its new size and to put it in force"),
        ("GuestChanging", "the guest, to take or to give back what its machine offers or wants"),
        ("PodShrinking", "the node, to take back what the guest no longer has"),
        ("Migrating", "its move to another node"),
        ("Failed", "somebody who asks again: `flexlet resize vm db`, after what the message says"),
    ],
)
def test_each_phase_has_somebody_to_wait_for(phase: str, text: str) -> None:
    assert waits(phase) == text


def test_room_is_told_with_its_figures_and_with_what_comes_after() -> None:
    assert waits("PodDeferred") == "room on node n1"
    assert waits("PodDeferred", free="6Gi") == "room on node n1: memory 8.016Gi more, of which 6Gi are free"
    assert waits("PodDeferred", {"fallback": "Migrate"}) == "room on node n1; after 5m: Migrate"
    assert waits("PodDeferred", {"fallback": "Fail", "deferTimeout": "90s"}) == "room on node n1; after 90s: Fail"


def test_a_restart_comes_before_everything() -> None:
    held = [{"type": "RestartRequired", "status": "True", "message": "too many sockets"}]
    assert waits("Done", conditions=held) == "a restart, `flexlet vm restart db`: too many sockets"
