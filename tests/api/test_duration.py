"""Durations print and read as Go's ``time.Duration`` does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api import duration
from flexlet.api.duration import Duration
from flexlet.errors import InputError


@pytest.mark.parametrize(
    ("text", "nanoseconds", "printed"),
    [
        ("0", 0, "0s"),
        ("0s", 0, "0s"),
        ("10s", 10_000_000_000, "10s"),
        ("5m", 300_000_000_000, "5m0s"),
        ("1h30m", 5_400_000_000_000, "1h30m0s"),
        ("100ms", 100_000_000, "100ms"),
        ("1500us", 1_500_000, "1.5ms"),
        ("1.5µs", 1_500, "1.5µs"),
        ("3μs", 3_000, "3µs"),
        (".5s", 500_000_000, "500ms"),
        ("1.s", 1_000_000_000, "1s"),
        ("1.0000000019s", 1_000_000_001, "1.000000001s"),
        ("1m0.5s", 60_500_000_000, "1m0.5s"),
        ("-1h", -3_600_000_000_000, "-1h0m0s"),
        ("+7ns", 7, "7ns"),
        ("2h1ns", 7_200_000_000_001, "2h0m0.000000001s"),
    ],
)
def test_durations_are_read_and_printed_as_go_does(text: str, nanoseconds: int, printed: str) -> None:
    found = duration.parse(text)
    assert (found.nanoseconds, str(found), found) == (nanoseconds, printed, Duration(nanoseconds / 1e9))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("s", 'time: invalid duration "s"'),
        (".s", 'time: invalid duration ".s"'),
        ("10", 'time: missing unit in duration "10"'),
        ("1h5", 'time: missing unit in duration "1h5"'),
        ("10d", 'time: unknown unit "d" in duration "10d"'),
        ("1 s", 'time: unknown unit " s" in duration "1 s"'),
        ("9999999h", 'time: invalid duration "9999999h"'),
    ],
)
def test_what_is_no_duration_is_refused_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        duration.parse(text)
    assert error.value.message == message


@given(st.integers(min_value=-(2**50), max_value=2**50))
def test_printing_loses_nothing(nanoseconds: int) -> None:
    """Whatever is printed reads back as the same number of nanoseconds (within float's reach: two weeks)."""
    assert duration.parse(duration.text(nanoseconds)).nanoseconds == nanoseconds


@pytest.mark.parametrize("text", ["1" * 500_000 + "s", "15h" * 200_000, "9" * 20 + "ns"])
def test_a_long_duration_is_refused_without_reading_its_digits(text: str) -> None:
    with pytest.raises(InputError) as error:
        duration.parse(text)
    assert error.value.message == f'time: invalid duration "{text}"'


def test_digits_that_do_not_count_may_be_many() -> None:
    assert duration.parse("0" * 500_000 + "1s") == duration.parse("1s")
    assert duration.parse("1." + "5" * 500_000 + "s").nanoseconds == 1_555_555_555
