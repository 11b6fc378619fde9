from typing import Any

import pytest

from flexlet.api import decode
from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity
from flexlet.core.nodesize import names
from flexlet.core.nodesize.objects import NodeSize, NodeSizeSpec
from flexlet.core.sizes.wish import Outcome, Wish, body, outcome, patch, with_wish

UNSEEN = Outcome("Waiting", "Pending", "the controllers have not looked at it yet")


def amounts(**given: str) -> ResourceList:
    return {key: Quantity.parse(text) for key, text in given.items()}


def size(observed: int = 2, seen: str = "now", **conditions: tuple[str, str, str]) -> NodeSize:
    """A NodeSize of generation 2 that was asked for `now`; each condition with status, reason and message."""
    value: dict[str, Any] = {
        "metadata": {"name": "n1", "generation": 2, "annotations": {names.REQUESTED: "now"}},
        "status": {
            "observedGeneration": observed,
            "progress": [{"resource": "cpu", "request": seen}],
            "conditions": [
                {"type": kind, "status": status, "reason": reason, "message": message}
                for kind, (status, reason, message) in conditions.items()
            ],
        },
    }
    return decode.from_value(value, NodeSize)


YES = ("True", "AsWanted", "")
NO = ("False", "Settled", "")


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (size(observed=1, Ready=YES), UNSEEN),
        (size(), UNSEEN),
        (size(seen="before", Ready=YES), UNSEEN),
        (size(Ready=YES, Resizing=NO, Insufficient=NO), Outcome("Done", "AsWanted")),
        (
            size(Ready=("False", "Resizing", ""), Resizing=("True", "Inflating", "balloon to cpu 7")),
            Outcome("Waiting", "Inflating", "balloon to cpu 7"),
        ),
        (
            size(Ready=("False", "BalloonMissing", ""), BalloonMissing=("True", "Missing", "it is being made")),
            Outcome("Waiting", "Missing", "it is being made"),
        ),
        (
            size(Ready=("False", "Deferred", ""), Insufficient=("True", "Deferred", "cpu: no room")),
            Outcome("Waiting", "Deferred", "cpu: no room"),
        ),
        (
            size(Ready=("False", "Refused", ""), Insufficient=("True", "Refused", "cpu: no room")),
            Outcome("Refused", "Refused", "cpu: no room"),
        ),
        (
            size(seen="before", Ready=("False", "Refused", ""), Insufficient=("True", "Refused", "cpu: no room")),
            UNSEEN,
        ),
        (
            size(Ready=("False", "PartiallyGranted", ""), Insufficient=("True", "PartiallyGranted", "cpu: half")),
            Outcome("Refused", "PartiallyGranted", "cpu: half"),
        ),
        (
            size(seen="before", Ready=("False", "NodeMissing", "there is no node n1")),
            Outcome("Failed", "NodeMissing", "there is no node n1"),
        ),
    ],
)
def test_what_became_of_a_wish(found: NodeSize, wanted: Outcome) -> None:
    """What the status says of an older wish does not count."""
    assert outcome(found) == wanted


def test_a_new_wish_is_an_object() -> None:
    wish = Wish(amounts=amounts(cpu="8", memory="32Gi"), on_insufficient="Defer", deadline_s=5, qmp="/q")
    assert body(wish, "n1", "now") == {
        "apiVersion": "flexlet.io/v1alpha1",
        "kind": "NodeSize",
        "metadata": {"name": "n1", "annotations": {"flexlet.io/requested-at": "now"}},
        "spec": {
            "target": {"effective": {"cpu": "8", "memory": "32Gi"}},
            "onInsufficient": "Defer",
            "deadlineSeconds": 5,
            "machine": {"qmp": "/q"},
        },
    }


def test_another_wish_is_a_patch() -> None:
    """What is not asked for stays, but there is never more than one kind of target."""
    assert patch(Wish(amounts=amounts(cpu="1"), balloon=True, via="Auto"), "now") == {
        "metadata": {"annotations": {"flexlet.io/requested-at": "now"}},
        "spec": {"target": {"balloon": {"cpu": "1"}, "effective": None}, "via": "Auto"},
    }


def test_what_was_wanted_before_stays_wanted() -> None:
    before = decode.from_value(
        {"target": {"effective": {"cpu": "4", "memory": "8Gi"}}, "minEffective": {"cpu": "2"}}, NodeSizeSpec
    )
    assert decode.to_value(with_wish(before, Wish(amounts=amounts(cpu="8")))) == {
        "target": {"effective": {"cpu": "8", "memory": "8Gi"}},
        "minEffective": {"cpu": "2"},
    }
    assert decode.to_value(with_wish(before, Wish(amounts=amounts(cpu="8"), balloon=True)))["target"] == {
        "balloon": {"cpu": "8"}
    }
    assert decode.to_value(with_wish(None, Wish(amounts=amounts(cpu="8"), via="Auto"))) == {
        "target": {"effective": {"cpu": "8"}},
        "via": "Auto",
    }
