"""A merge patch from one value to another, applied, gives the other."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flexlet.api.patch import difference, merge

SCALARS = st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
VALUES = st.recursive(
    st.dictionaries(st.text(max_size=2), SCALARS, max_size=3),
    lambda inner: st.dictionaries(st.text(max_size=2), inner | SCALARS, max_size=3),
)


def test_only_what_differs_is_named() -> None:
    old = {"same": 1, "gone": 2, "inside": {"same": 3, "new": 4}, "list": [1]}
    new = {"same": 1, "inside": {"same": 3, "new": 5}, "list": [1, 2]}
    assert difference.difference(old, new) == {"gone": None, "inside": {"new": 5}, "list": [1, 2]}


@given(VALUES, VALUES)
def test_what_is_patched_is_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert merge.apply(old, difference.difference(old, new)) == new
