from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api import age
from flexlet.errors import InputError

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 1, "2m1s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE + 1, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + MINUTE, "3h1m"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR, "8h"),
        (48 * HOUR - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR, "8y"),
    ],
)
def test_human(seconds: float, text: str) -> None:
    """An age has two or three significant figures; a moment in the future is tolerated for a second."""
    assert age.human(seconds) == text


def test_since() -> None:
    """The age of an object counts from its timestamp; without one it is unknown."""
    assert age.since("2023-11-14T22:13:20Z", 1_700_000_100.5) == "100s"
    assert age.since(None, 1_700_000_100.5) == "<unknown>"
    assert age.since("", 1_700_000_100.5) == "<unknown>"


def test_format() -> None:
    """Times are printed in UTC: whole seconds, or six digits of one."""
    assert age.format_seconds(1_700_000_000.999) == "2023-11-14T22:13:20Z"
    assert age.format_seconds(-0.5) == "1969-12-31T23:59:59Z"
    assert age.format_micro(1_700_000_000.000001) == "2023-11-14T22:13:20.000001Z"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z"),
        ("2024-01-01T00:00:00.5+02:00", "2023-12-31T22:00:00Z"),
        ("2024-01-01T5:00:00,123456789-00:30", "2024-01-01T05:30:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ],
)
def test_canonical(text: str, canonical: str) -> None:
    """A Time is stored in UTC without fractions, whatever zone and digits a client wrote."""
    assert age.canonical(text) == canonical


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2024-01-01T00:00:00.000001Z", "2024-01-01T00:00:00.000001Z"),
        ("2024-01-01T00:00:00.500000+02:00", "2023-12-31T22:00:00.500000Z"),
    ],
)
def test_canonical_micro(text: str, canonical: str) -> None:
    """A MicroTime is stored in UTC with its six digits."""
    assert age.canonical_micro(text) == canonical


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("yesterday", ' as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'),
        ("2024-01-01", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        ("2024-1-01T00:00:00Z", ' as "2006-01-02T15:04:05Z07:00": cannot parse "1-01T00:00:00Z" as "01"'),
        ("2024/01/01", ' as "2006-01-02T15:04:05Z07:00": cannot parse "/01/01" as "-"'),
        ("2024-01-01T00:00:00+0200", ' as "2006-01-02T15:04:05Z07:00": cannot parse "+0200" as "Z07:00"'),
        ("2024-13-01T00:00:00Z", ": month out of range"),
        ("2024-02-30T00:00:00Z", ": day out of range"),
        ("2024-01-01T24:00:00Z", ": hour out of range"),
        ("2024-01-01T00:60:00Z", ": minute out of range"),
        ("2024-01-01T00:00:60Z", ": second out of range"),
        ("2024-01-01T00:00:00+25:00", ": time zone offset hour out of range"),
        ("2024-01-01T00:00:00+01:61", ": time zone offset minute out of range"),
        ("2024-01-01T00:00:00Zx", ': extra text: "x"'),
        ("0001-01-01T00:00:00+01:00", ": year out of range"),
        ("2024-W01-1T00:00:00Z", ' as "2006-01-02T15:04:05Z07:00": cannot parse "W01-1T00:00:00Z" as "01"'),
    ],
)
def test_faults_have_gos_words(text: str, fault: str) -> None:
    """What is no time is refused with the words of Go's time.Parse."""
    with pytest.raises(InputError) as caught:
        age.parse(text)
    assert caught.value.message == f'parsing time "{text}"{fault}'


def test_micro_time_needs_six_digits() -> None:
    """A MicroTime without its digits is refused."""
    with pytest.raises(InputError) as caught:
        age.parse_micro("2024-01-01T00:00:00.5Z")
    assert caught.value.message == (
        'parsing time "2024-01-01T00:00:00.5Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ".5Z" as '
        '".000000"'
    )


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)))  # noqa: DTZ001
def test_what_is_printed_is_read_back(moment: datetime) -> None:
    """Canonical texts are fixed points and read back as the moment they were made from."""
    text = age.canonical_micro(moment.strftime(f"{moment.year:04d}-%m-%dT%H:%M:%S.%fZ"))
    assert age.parse_micro(text) == moment
    assert age.parse(age.canonical(text)) == moment.replace(microsecond=0)
