"""Lines of watch streams as they travel: JSON, framed as one chunk of HTTP, made once for all who watch.

Objects that are shown as they are stored are the same bytes in memory for everybody, so their frames can be shared
too; what was framed last is kept, up to a bound in bytes. Tables and the like are made for each stream.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.http.shapes import Shape
from flexlet.apiserver.rest.watching import WatchEvent
from flexlet.apiserver.store.splice import WATCH_OPENINGS

KEPT_BYTES: Final = 8 * 1024 * 1024
END: Final = b"0\r\n\r\n"

Frame: TypeAlias = Callable[[Sequence[WatchEvent]], list[bytes]]
"""The frames of events, in order."""


def framed(line: bytes) -> bytes:
    """A chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(line), line)


class Frames:
    """The frames of objects as they are, by event type and the object's bytes."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._bytes = 0
        # Each entry holds the object's bytes, so their identity cannot become another object's.
        self._frames: dict[tuple[str, int], tuple[bytes, bytes]] = {}

    def plain(self, events: Sequence[WatchEvent]) -> list[bytes]:
        """Events as they are."""
        known = self._frames
        found: list[bytes] = []
        for event in events:
            kept = known.get((event[0], id(event[1])))
            found.append(self._new(event) if kept is None else kept[1])
        return found

    def _new(self, event: WatchEvent) -> bytes:
        opening, value = WATCH_OPENINGS[event.type], event.value
        size = len(opening) + len(value) + 2
        frame = b"%x\r\n%b%b}\n\r\n" % (size, opening, value)
        self._frames[event.type, id(value)] = (value, frame)
        self._bytes += len(frame)
        while self._bytes > self._kept_bytes and len(self._frames) > 1:
            self._bytes -= len(self._frames.pop(next(iter(self._frames)))[1])
        return frame


def shaped(kind: Kind, shape: Shape) -> Frame:
    """Frames of one stream in a shape; its first carries the columns."""
    first = True

    def frames(events: Sequence[WatchEvent]) -> list[bytes]:
        nonlocal first
        found: list[bytes] = []
        for event in events:
            found.append(framed(shape.event(kind, event.type, event.value, first=first)))
            first = False
        return found

    return frames
