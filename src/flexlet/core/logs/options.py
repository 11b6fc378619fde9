"""Which part of a log was asked for: the query of ``/containerLogs`` as a value.

Follows the kubelet's reading of PodLogOptions: what cannot be read is 400, what contradicts itself 422, both with
a fixed text. A flag is true unless it is absent, ``0`` or ``false``.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from flexlet.core.logs import lines

UNREADABLE: Final = '{"message": "Unable to decode query."}'
INVALID: Final = '{"message": "Invalid request."}'
ALL_STREAMS: Final = "All"
_STREAM_NAMES: Final = (ALL_STREAMS, "Stdout", "Stderr")
_SECOND: Final = 1_000_000_000

Query = Mapping[str, Sequence[str]]


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to show of a log."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since_ns: int | None = None
    """Lines before this moment are left out."""
    tail_lines: int | None = None
    limit_bytes: int | None = None
    stream: str = ALL_STREAMS


class BadQuery(msgspec.Struct, frozen=True):
    """The query is refused with this code and text."""

    code: int
    message: str


def read_options(query: Query, now: float) -> LogOptions | BadQuery:
    """The options, or why there are none; `now` is what ``sinceSeconds`` counts back from."""
    try:
        numbers = {key: _number(query, key) for key in ("sinceSeconds", "limitBytes")}
        tail = _tail(query)
        since_time = _time(query)
    except ValueError:
        return BadQuery(400, UNREADABLE)
    since, limit, stream = numbers["sinceSeconds"], numbers["limitBytes"], _first(query, "stream") or ALL_STREAMS
    contradicts = (
        (tail is not None and tail < 0)
        or (limit is not None and limit < 1)
        or (since is not None and (since < 1 or since_time is not None))
        or stream not in _STREAM_NAMES
        or (stream != ALL_STREAMS and tail is not None)
    )
    if contradicts:
        return BadQuery(422, INVALID)
    return LogOptions(
        follow=_flag(query, "follow"),
        previous=_flag(query, "previous"),
        timestamps=_flag(query, "timestamps"),
        since_ns=since_time if since is None else int(now * _SECOND) - since * _SECOND,
        tail_lines=tail,
        limit_bytes=limit,
        stream=stream,
    )


def _first(query: Query, key: str) -> str | None:
    values = query.get(key)
    return values[0] if values else None


def _flag(query: Query, key: str) -> bool:
    value = _first(query, key)
    return value is not None and value != "0" and value.lower() != "false"


def _number(query: Query, key: str) -> int | None:
    text = _first(query, key)
    if text is None:
        return None
    if not text.removeprefix("-").removeprefix("+").isdecimal() or not text.isascii():
        raise ValueError(text)
    return int(text)


def _tail(query: Query) -> int | None:
    """`tailLines`, or ``tail`` as it was called once; ``tail=all`` is no limit."""
    legacy = _first(query, "tail")
    if not legacy:
        return _number(query, "tailLines")
    return None if legacy == "all" else _number(query, "tail")


def _time(query: Query) -> int | None:
    text = _first(query, "sinceTime")
    if not text or text == "null":  # what old clients sent for none
        return None
    moment = lines.nanoseconds(text.encode())
    if moment is None:
        raise ValueError(text)
    return moment
