"""The query of a request for logs."""

import pytest

from flexlet.core.logs.options import INVALID, UNREADABLE, BadQuery, LogOptions, read_options

NOW = 1_000.5
SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, LogOptions()),
        ({"follow": ["true"], "previous": ["1"], "timestamps": [""]},
         LogOptions(follow=True, previous=True, timestamps=True)),
        ({"follow": ["false"], "previous": ["0"], "timestamps": ["False"]}, LogOptions()),
        ({"sinceSeconds": ["10"]}, LogOptions(since_ns=int(990.5 * SECOND))),
        ({"sinceTime": ["1970-01-01T00:00:10Z"]}, LogOptions(since_ns=10 * SECOND)),
        ({"sinceTime": [""]}, LogOptions()),
        ({"tailLines": ["0"], "limitBytes": ["7"]}, LogOptions(tail_lines=0, limit_bytes=7)),
        ({"tail": ["3"], "tailLines": ["9"]}, LogOptions(tail_lines=3)),
        ({"tail": ["all"], "tailLines": ["9"]}, LogOptions()),
        ({"stream": ["Stderr"]}, LogOptions(stream="Stderr")),
    ],
)  # fmt: skip
def test_options(query: dict[str, list[str]], expected: LogOptions) -> None:
    assert read_options(query, NOW) == expected


@pytest.mark.parametrize(
    "query",
    [
        {"tailLines": ["x"]},
        {"tailLines": [""]},
        {"limitBytes": ["1.5"]},
        {"sinceSeconds": ["٣"]},
        {"sinceTime": ["yesterday"]},
        {"tail": ["some"]},
    ],
)
def test_what_cannot_be_read(query: dict[str, list[str]]) -> None:
    assert read_options(query, NOW) == BadQuery(400, UNREADABLE)


@pytest.mark.parametrize(
    "query",
    [
        {"tailLines": ["-1"]},
        {"limitBytes": ["0"]},
        {"sinceSeconds": ["0"]},
        {"sinceSeconds": ["5"], "sinceTime": ["1970-01-01T00:00:10Z"]},
        {"stream": ["Stdlog"]},
        {"stream": ["Stdout"], "tailLines": ["1"]},
    ],
)
def test_what_contradicts_itself(query: dict[str, list[str]]) -> None:
    assert read_options(query, NOW) == BadQuery(422, INVALID)
