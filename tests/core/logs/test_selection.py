"""What of a log is shown: every option alone against a plain model, and the joined lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.core.logs.options import LogOptions
from flexlet.core.logs.selection import Selection, UnknownFormat, tail_start

FILE = [
    b"2020-01-01T00:00:01.1Z stdout P one \n",
    b"2020-01-01T00:00:02Z stdout F line\n",
    b"not a line of a log\n",
    b"2020-01-01T00:00:03Z stderr F error\n",
    b"2020-01-01T00:00:04Z stdout F last\n",
]
SECOND = 1_000_000_000
START = 1_577_836_800


def shown(file: list[bytes], options: LogOptions) -> bytes:
    selection = Selection(options)
    return b"".join(selection.show(line) for line in file)


def test_partial_lines_are_joined_and_unreadable_ones_left_out() -> None:
    assert shown(FILE, LogOptions()) == b"one line\nerror\nlast\n"


def test_a_time_stands_only_where_a_joined_line_begins() -> None:
    assert shown(FILE, LogOptions(timestamps=True)) == (
        b"2020-01-01T00:00:01.100000000Z one line\n"
        b"2020-01-01T00:00:03.000000000Z error\n"
        b"2020-01-01T00:00:04.000000000Z last\n"
    )


def test_lines_before_a_moment_are_left_out() -> None:
    assert shown(FILE, LogOptions(since_ns=(START + 3) * SECOND)) == b"error\nlast\n"
    assert shown(FILE, LogOptions(since_ns=(START + 3) * SECOND + 1)) == b"last\n"


def test_a_tail_counts_lines_of_the_file_that_can_be_read() -> None:
    """Parts of lines count, lines that are skipped for their age too."""
    assert shown(FILE, LogOptions(tail_lines=2)) == b"one line\n"
    assert shown(FILE, LogOptions(tail_lines=4, since_ns=(START + 3) * SECOND)) == b"error\nlast\n"
    assert shown(FILE, LogOptions(tail_lines=0)) == b""


def test_a_tail_that_is_followed_does_not_end() -> None:
    assert shown(FILE, LogOptions(tail_lines=1, follow=True)) == b"one line\nerror\nlast\n"


def test_one_stream_only() -> None:
    assert shown(FILE, LogOptions(stream="Stderr", limit_bytes=3)) == b"err"


@given(st.integers(1, 30), st.booleans())
def test_the_byte_limit_cuts_anywhere_and_ends(limit: int, timestamps: bool) -> None:
    whole = shown(FILE, LogOptions(timestamps=timestamps))
    selection = Selection(LogOptions(timestamps=timestamps, limit_bytes=limit))
    assert b"".join(selection.show(line) for line in FILE) == whole[:limit]
    assert selection.is_finished == (len(whole) >= limit)


def test_docker_files_are_read_to_their_end_in_docker_format() -> None:
    file = [b'{"log":"a\\n","stream":"stdout","time":"2020-01-01T00:00:01Z"}\n', FILE[1]]
    assert shown(file, LogOptions()) == b"a\n"


def test_a_file_of_another_kind_is_told_so() -> None:
    with pytest.raises(UnknownFormat, match=r'unsupported log format: "plain \\"text\\"\\n"'):
        shown([b'plain "text"\n'], LogOptions())


texts = st.lists(st.text("ab", max_size=3), max_size=12)


@given(texts, st.booleans(), st.integers(0, 14), st.integers(1, 9))
def test_the_tail_of_a_file_begins_after_all_lines_but_the_last(
    found: list[str], is_complete: bool, count: int, block: int
) -> None:
    """Whatever the size of the blocks it is searched in; a last line without a newline is not counted."""
    data = "\n".join(found).encode() + (b"\n" if is_complete else b"")
    start = tail_start(len(data), count, lambda at, length: data[at : at + length], block)
    rest = data.split(b"\n")
    assert data[start:] == b"\n".join(rest[max(0, len(rest) - 1 - count) :])
