"""One line of a container log, in CRI's format or in Docker's.

CRI writes ``2016-10-06T00:17:09.669794202Z stdout F text``: a time with up to nine digits of a second, the stream,
tags separated by colons of which the first is P (the line goes on) or F, and the text. The newline of a P line
belongs to the file and not to the text. A file has one format, known from the first line that is read.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import msgspec

STREAMS: Final = (b"stdout", b"stderr")
PARTIAL: Final = b"P"
NO_TIME: Final = b"0001-01-01T00:00:00Z"

_match_time: Final = re.compile(
    rb"(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)"
    rb"(?:[.,](\d+))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
).fullmatch


class Line(msgspec.Struct, frozen=True):
    """When, on which stream, and what; the text ends with a newline unless the next line continues it."""

    time: bytes
    stream: bytes
    text: bytes


Parse = Callable[[bytes], Line | None]


class _DockerLine(msgspec.Struct):
    log: str = ""
    stream: str = ""
    time: str = NO_TIME.decode()


_docker_decoder: Final = msgspec.json.Decoder(_DockerLine)


def parse_cri(line: bytes) -> Line | None:
    """A line of a CRI log; None if it is none."""
    parts = line.split(b" ", 3)
    if len(parts) != 4 or parts[1] not in STREAMS or _match_time(parts[0]) is None:
        return None
    text = parts[3]
    if parts[2].partition(b":")[0] == PARTIAL and text.endswith(b"\n"):
        text = text[:-1]
    return Line(parts[0], parts[1], text)


def parse_docker(line: bytes) -> Line | None:
    """A line of a Docker JSON log; None if it is none."""
    try:
        found = _docker_decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    time, stream = found.time.encode(), found.stream.encode()
    if stream not in STREAMS or _match_time(time) is None:
        return None
    return Line(time, stream, found.log.encode(errors="surrogatepass"))


def parser_for(line: bytes) -> Parse | None:
    """How to read the file that this line is the first of; None if nobody knows."""
    return next((parse for parse in (parse_cri, parse_docker) if parse(line) is not None), None)


def nanoseconds(time: bytes) -> int | None:
    """A time as nanoseconds since the epoch; None if it is none."""
    match = _match_time(time)
    if match is None:
        return None
    seconds = _seconds(match[1], match[3])
    return None if seconds is None else seconds * 1_000_000_000 + int((match[2] or b"")[:9].ljust(9, b"0"))


@lru_cache(maxsize=64)  # most lines of a log share their second with the one before
def _seconds(date: bytes, zone: bytes) -> int | None:
    try:
        moment = datetime.fromisoformat(date.decode()).replace(tzinfo=UTC)
    except ValueError:  # a day that this month does not have
        return None
    seconds = int(moment.timestamp())
    if zone == b"Z":
        return seconds
    offset = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
    return seconds - offset if zone[:1] == b"+" else seconds + offset


def stamp(time: bytes) -> bytes:
    """A time with exactly nine digits of a second, in its own zone."""
    match = _match_time(time)
    if match is None:
        return time
    zone = b"Z" if match[3] in {b"+00:00", b"-00:00"} else match[3]
    return match[1] + b"." + (match[2] or b"")[:9].ljust(9, b"0") + zone
