import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api.quantity import Quantity
from flexlet.core.sizes.words import BALLOON, FREE, USED, amount, bar, change


@pytest.mark.parametrize(
    ("resource", "text", "shown"),
    [
        ("cpu", "3500m", "3.5"),
        ("cpu", "8", "8"),
        ("cpu", "1m", "0.001"),
        ("cpu", "-500m", "-0.5"),
        ("memory", "32668Mi", "31.9Gi"),
        ("memory", "1Gi", "1Gi"),
        ("memory", "-64Mi", "-64Mi"),
        ("memory", "0", "0"),
        ("memory", "1500", "1.465Ki"),
        ("memory", "3Ti", "3Ti"),
    ],
)
def test_amounts(resource: str, text: str, shown: str) -> None:
    assert amount(resource, Quantity.parse(text)) == shown


def test_changes() -> None:
    four, six = Quantity.parse("4"), Quantity.parse("6")
    assert (change("cpu", four, six), change("cpu", four, four)) == ("4 -> 6", "4")
    assert change("cpu", None, six) == "- -> 6"


@pytest.mark.parametrize(
    ("used", "balloon", "whole", "shown"),
    [
        (5, 7, 15, "[####..oooooo]"),
        (0, 0, 15, "[............]"),
        (15, 7, 15, "[######oooooo]"),
        (1, 0, 100, "[#...........]"),
        (1, 0, 0, "[????????????]"),
    ],
)
def test_bars(used: int, balloon: int, whole: int, shown: str) -> None:
    """Too much leaves nothing free; a hundredth can still be seen; a node without size has no picture."""
    assert bar(used, balloon, whole, width=12) == shown


@given(st.integers(0, 10**13), st.integers(0, 10**13), st.integers(1, 10**13), st.integers(4, 40))
def test_a_bar_has_its_width(used: int, balloon: int, whole: int, width: int) -> None:
    drawn = bar(used, balloon, whole, width)
    cells = drawn.strip("[]")
    assert len(cells) == width
    assert cells == USED * cells.count(USED) + FREE * cells.count(FREE) + BALLOON * cells.count(BALLOON)
