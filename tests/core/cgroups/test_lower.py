import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.core.cgroups.lower import lower, unlimited

_amounts = st.one_of(st.just("max"), st.integers(0, 2**50).map(str))
_files = st.dictionaries(st.sampled_from(("memory.max", "memory.high", "pids.max")), _amounts)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("100", "20", "20"),
        ("max", "20", "20"),
        ("max", "max", "max"),
        ("150000 100000", "200000 100000", "150000 100000"),
        ("150000 100000", "100000 50000", "150000 100000"),
        ("max 100000", "1 100000", "1 100000"),
    ],
)
def test_of_two_limits_the_lower_one_counts(one: str, other: str, both: str) -> None:
    """Numbers, not texts; a quota is a share of its period."""
    assert lower({"f": one}, {"f": other}) == {"f": both}
    assert lower({"f": one, "g": "7"}, {"h": "8"}) == {"f": one, "g": "7", "h": "8"}


@given(_files, _files)
def test_nobody_is_given_more_by_a_second_limit(one: dict[str, str], other: dict[str, str]) -> None:
    both = lower(one, other)
    assert both == lower(other, one)
    assert both.keys() == one.keys() | other.keys()
    assert lower(both, one) == both == lower(both, other)


@given(_files)
def test_no_limit_takes_nothing_away(files: dict[str, str]) -> None:
    assert lower(files, unlimited(files)) == files
    assert unlimited(["cpu.max"]) == {"cpu.max": "max 100000"}
