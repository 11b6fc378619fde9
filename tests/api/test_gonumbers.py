"""Numbers without a type, as Go reads and writes them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api import gonumbers

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(NUMBERS | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1.0, "a": [2.0, 1.5]}, b'{"a":[2,1.5],"b":1}'),
        ({"version": "1.0"}, b'{"version":"1.0"}'),
        ({"n": 1e21}, b'{"n":1e21}'),
        ({"n": -0.0}, b'{"n":0}'),
    ],
)
def test_whole_floats_are_written_as_integers(value: Any, text: bytes) -> None:
    assert gonumbers.encode_sorted(value) == text


@given(JSON)
def test_no_integer_is_larger_than_64_bits(value: Any) -> None:
    def integers(found: Any) -> list[int]:
        if isinstance(found, dict | list):
            inner = found.values() if isinstance(found, dict) else found
            return [number for item in inner for number in integers(item)]
        return [found] if type(found) is int else []

    assert all(-(2**63) <= number < 2**63 for number in integers(gonumbers.tamed(value)))
