"""Forecasts of the scenarios of balloon.md §12: a node of 15 CPUs and 60Gi."""

from typing import Any

import pytest

from flexlet.api import decode
from flexlet.api.quantity import Quantity
from flexlet.core.nodesize.objects import NodeSizeSpec
from flexlet.core.sizes.nodes import Figures
from flexlet.core.sizes.wishplan import AT_ONCE, forecast, words


def figures(whole: str, balloon: str, used: str) -> Figures:
    amounts = [Quantity.parse(text) for text in (whole, balloon, used)]
    return Figures(allocatable=amounts[0], balloon=amounts[1], used=amounts[2])


def told(balloon: tuple[str, str], used: tuple[str, str], **spec: Any) -> list[tuple[str, bool]]:
    """What would be done for CPU and memory, and whether at once."""
    node = {"cpu": figures("15", balloon[0], used[0]), "memory": figures("60Gi", balloon[1], used[1])}
    found = forecast(node, decode.from_value(spec, NodeSizeSpec))
    return [(words(one), one.verdict in AT_ONCE) for one in found]


def both(cpu: str, memory: str) -> dict[str, Any]:
    return {"target": {"balloon": {"cpu": cpu, "memory": memory}}}


LARGE, SMALL = ("7", "28Gi"), ("3", "12Gi")
USED, FULL = ("5", "20Gi"), ("5", "40Gi")


@pytest.mark.parametrize(
    ("balloon", "used", "spec", "answer"),
    [
        (LARGE, USED, both("3", "12Gi"), [("deflate by 4", True), ("deflate by 16Gi", True)]),
        (SMALL, USED, both("7", "28Gi"), [("inflate by 4", True), ("inflate by 16Gi", True)]),
        (SMALL, FULL, both("7", "28Gi"), [("inflate by 4", True), ("refused: pods have 8Gi of it", False)]),
        (
            SMALL,
            FULL,
            both("7", "28Gi") | {"onInsufficient": "Partial"},
            [("inflate by 4", True), ("inflate by 7.5Gi, 8.5Gi less than asked for", False)],
        ),
        (
            SMALL,
            FULL,
            both("7", "28Gi") | {"onInsufficient": "Defer"},
            [("inflate by 4", True), ("wait until 8Gi more is free", False)],
        ),
        (LARGE, USED, both("0", "0"), [("deflate by 6.999", True), ("deflate by 27.98Gi", True)]),
        (LARGE, USED, {"target": {"effective": {"cpu": "12"}}}, [("deflate by 4", True)]),
        (LARGE, USED, {"target": {"effective": {"cpu": "8"}}}, [("stays", True)]),
        (
            LARGE,
            USED,
            {"target": {"effective": {"cpu": "17"}}},
            [("refused: the machine has 2 too little", False)],
        ),
        (
            LARGE,
            USED,
            {"target": {"effective": {"cpu": "17"}}, "via": "Auto", "machine": {"qmp": "/q"}},
            [("deflate, then plug 2 into the machine", True)],
        ),
        (
            SMALL,
            USED,
            {"target": {"effective": {"cpu": "6"}}, "minEffective": {"cpu": "7"}},
            [("refused: minEffective keeps 1 of it", False)],
        ),
        (LARGE, USED, {}, []),
    ],
)
def test_forecasts(
    balloon: tuple[str, str], used: tuple[str, str], spec: dict[str, Any], answer: list[tuple[str, bool]]
) -> None:
    assert told(balloon, used, **spec) == answer
