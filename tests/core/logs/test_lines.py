"""Lines of container logs as values."""

import pytest

from flexlet.core.logs import lines
from flexlet.core.logs.lines import Line


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            b"2016-10-06T00:17:09.669794202Z stdout F whole line\n",
            Line(b"2016-10-06T00:17:09.669794202Z", b"stdout", b"whole line\n"),
        ),
        (
            b"2016-10-06T00:17:09.669794202Z stderr P part\n",
            Line(b"2016-10-06T00:17:09.669794202Z", b"stderr", b"part"),
        ),
        (
            b"2016-10-06T00:17:09+02:00 stdout P:TAG:OTHER part\n",
            Line(b"2016-10-06T00:17:09+02:00", b"stdout", b"part"),
        ),
        (b"2016-10-06T00:17:09Z stdout F \n", Line(b"2016-10-06T00:17:09Z", b"stdout", b"\n")),
        (b"2016-10-06T00:17:09Z stdout F cut off", Line(b"2016-10-06T00:17:09Z", b"stdout", b"cut off")),
    ],
)
def test_cri_lines(raw: bytes, expected: Line) -> None:
    """The first tag says whether the newline belongs to the text; further tags are for later versions."""
    assert lines.parse_cri(raw) == expected


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"hello\n",
        b"2016-10-06T00:17:09Z stdout F\n",
        b"2016-10-06T00:17:09Z stdlog F text\n",
        b"2016-13-06T00:17:09Z stdout F text\n",
        b"2016-10-06 00:17:09Z stdout F text\n",
        b'{"log":"x\\n"}\n',
    ],
)
def test_what_is_no_cri_line(raw: bytes) -> None:
    assert lines.parse_cri(raw) is None


def test_docker_lines() -> None:
    raw = b'{"log":"caf\\u00e9\\n","stream":"stdout","time":"2016-10-20T18:39:20.57606443Z","more":1}\n'
    assert lines.parse_docker(raw) == Line(b"2016-10-20T18:39:20.57606443Z", b"stdout", "café\n".encode())
    assert lines.parser_for(raw) is lines.parse_docker


@pytest.mark.parametrize("raw", [b'{"log":1}\n', b"[]\n", b"{", b'{"log":"x","stream":"neither"}\n'])
def test_what_is_no_docker_line(raw: bytes) -> None:
    assert lines.parse_docker(raw) is None
    assert lines.parser_for(raw) is None


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (b"1970-01-01T00:00:00Z", 0),
        (b"1970-01-01T00:00:01.5Z", 1_500_000_000),
        (b"1970-01-01T01:00:00.000000001+01:00", 1),
        (b"1969-12-31T23:00:00-01:00", 0),
        (b"0001-01-01T00:00:00Z", -62135596800_000_000_000),
        (b"2021-02-30T00:00:00Z", None),
        (b"yesterday", None),
    ],
)
def test_moments(time: bytes, expected: int | None) -> None:
    assert lines.nanoseconds(time) == expected


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (b"2016-10-06T00:17:09Z", b"2016-10-06T00:17:09.000000000Z"),
        (b"2016-10-06T00:17:09.66Z", b"2016-10-06T00:17:09.660000000Z"),
        (b"2016-10-06T00:17:09.123456789+02:00", b"2016-10-06T00:17:09.123456789+02:00"),
        (b"2016-10-06T00:17:09.1+00:00", b"2016-10-06T00:17:09.100000000Z"),
    ],
)
def test_times_are_printed_in_fixed_width(time: bytes, expected: bytes) -> None:
    assert lines.stamp(time) == expected
