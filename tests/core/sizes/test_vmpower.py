"""What power switches and moves write, and when they have done it."""

from typing import Any

import pytest
from tests.core.sizes.vmkit import value

from flexlet.api import decode
from flexlet.core.sizes import vmmove, vmpower
from flexlet.core.sizes.vmpower import Switch
from flexlet.core.sizes.wish import Outcome
from flexlet.core.vm import names
from flexlet.core.vm.objects import FlexVM, FlexVMMigration

UNSEEN = Outcome("Waiting", "Pending", "the controllers have not looked at it yet")


def vm(spec: dict[str, Any] | None = None, asked: str = "", **status: Any) -> FlexVM:
    found = value(**status)
    found["spec"] |= spec or {}
    found["metadata"]["annotations"] = {names.POWER: asked} if asked else {}
    return decode.from_value(found, FlexVM)


@pytest.mark.parametrize(
    ("spec", "switch", "found"),
    [
        ({}, "Stop", {"spec": {"runStrategy": "Halted", "running": None}}),
        ({"running": False}, "Start", {"spec": {"runStrategy": "Always", "running": None}}),
        ({"runStrategy": "Manual"}, "Start", {"metadata": {"annotations": {names.POWER: "Start@t"}}}),
        ({"runStrategy": "RerunOnFailure"}, "Stop", {"metadata": {"annotations": {names.POWER: "Stop@t"}}}),
        ({"runStrategy": "Always"}, "Restart", {"metadata": {"annotations": {names.POWER: "Restart@t"}}}),
    ],
)
def test_what_is_written(spec: dict[str, Any], switch: Switch, found: dict[str, Any]) -> None:
    assert vmpower.patch(vm(spec), switch, "t") == found


READY = [{"type": "Ready", "status": "True"}]
STARTING = [{"type": "Ready", "status": "False", "message": "the guest has not started"}]


@pytest.mark.parametrize(
    ("switch", "status", "found"),
    [
        ("Stop", {"observedGeneration": 0}, UNSEEN),
        ("Stop", {"printableStatus": "Stopping"}, Outcome("Waiting", "Stopping")),
        ("Stop", {"printableStatus": "Stopped"}, Outcome("Done", "Stopped")),
        ("Start", {"conditions": READY}, Outcome("Done", "Running")),
        (
            "Start",
            {"printableStatus": "Starting", "conditions": STARTING},
            Outcome("Waiting", "Starting", "the guest has not started"),
        ),
        ("Restart", {"power": "Restart@s", "conditions": READY}, UNSEEN),
        (
            "Restart",
            {"power": "Restart@t", "conditions": READY, "pod": {"uid": "old"}},
            Outcome("Waiting", "Running"),
        ),
        (
            "Restart",
            {"power": "Restart@t", "conditions": READY, "pod": {"uid": "new"}},
            Outcome("Done", "Running"),
        ),
    ],
)
def test_how_far_it_is(switch: Switch, status: dict[str, Any], found: Outcome) -> None:
    asked = "Restart@t" if switch == "Restart" else ""
    assert vmpower.outcome(vm(asked=asked, **status), switch, "old") == found


def test_a_move() -> None:
    assert vmmove.body("db", "n2")["spec"] == {"vmName": "db", "nodeName": "n2"}
    assert vmmove.body("db", "")["spec"] == {"vmName": "db"}

    def outcome(**status: Any) -> Outcome:
        return vmmove.outcome(decode.from_value({"status": status}, FlexVMMigration))

    assert outcome() == UNSEEN
    assert outcome(phase="Scheduling", message="no room") == Outcome("Waiting", "Scheduling", "no room")
    assert outcome(phase="Failed") == Outcome("Failed", "MigrationFailed", "nobody has said why")
    figures = {"transferredBytes": 3 << 30, "downtimeMilliseconds": 120, "totalMilliseconds": 8400}
    assert outcome(phase="Succeeded", sourceNode="n1", targetNode="n2", **figures) == Outcome(
        "Done", "Succeeded", "n1 -> n2: 3Gi copied in 8.4 s, paused for 120 ms"
    )
