"""FNV-1a, whole and in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.core import fnv

STATES = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968)],
)
def test_known_values(data: bytes, expected: int) -> None:
    assert fnv.fnv1a(data) == expected


@given(st.binary(max_size=60), st.lists(STATES, min_size=1, max_size=20))
def test_a_learned_text_does_to_any_state_what_its_bytes_do(data: bytes, states: list[int]) -> None:
    learned = fnv.piece(data)
    assert [fnv.continued(each, learned) for each in states] == [fnv.fnv1a(data, each) for each in states]


@given(st.lists(st.binary(max_size=20), max_size=6))
def test_pieces_in_a_row_are_the_whole(parts: list[bytes]) -> None:
    state = fnv.OFFSET
    for part in parts:
        state = fnv.continued(state, fnv.piece(part))
    assert state == fnv.fnv1a(b"".join(parts))
