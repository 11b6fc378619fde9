"""From the lines of a file to what the reader of a log sees.

Follows the kubelet's reader: lines older than `since` are skipped, a time is printed only where a joined line
begins, the byte limit cuts in the middle of a line, and a tail that is not followed ends after that many lines of
the file, shown or not.
"""

from collections.abc import Callable
from typing import Final

from flexlet.core.logs import lines
from flexlet.core.logs.lines import Line
from flexlet.core.logs.options import ALL_STREAMS, LogOptions
from flexlet.errors import FlexletError

_BLOCK: Final = 1 << 16


class UnknownFormat(FlexletError):
    """The first line is in no format that container logs have."""


class Selection:
    """Fed with the lines of one log in order; says when nothing more can come."""

    def __init__(self, options: LogOptions) -> None:
        self._options = options
        self._parse: lines.Parse | None = None
        self._bytes_left = options.limit_bytes
        self._lines_left = None if options.follow else options.tail_lines
        self._at_line_start = True

    @property
    def is_finished(self) -> bool:
        """Whether all that was asked for has been shown."""
        return self._lines_left == 0 or (self._bytes_left is not None and self._bytes_left <= 0)

    def show(self, raw: bytes) -> bytes:
        """What one line of the file (with its newline) adds; lines that cannot be read add nothing."""
        if self.is_finished:
            return b""
        if self._parse is None:
            self._parse = lines.parser_for(raw)
            if self._parse is None:
                quoted = raw.decode(errors="replace").replace("\n", "\\n").replace('"', '\\"')
                raise UnknownFormat(f'failed to get parse function: unsupported log format: "{quoted}"')
        line = self._parse(raw)
        if line is None:
            return b""
        shown = self._cut(self._printed(line))
        if self._lines_left is not None:
            self._lines_left -= 1
        self._at_line_start = not line.text or line.text.endswith(b"\n")
        return shown

    def _printed(self, line: Line) -> bytes:
        options = self._options
        if options.stream != ALL_STREAMS and line.stream != options.stream.lower().encode():
            return b""
        if options.since_ns is not None and (lines.nanoseconds(line.time) or 0) < options.since_ns:
            return b""
        if options.timestamps and self._at_line_start:
            return lines.stamp(line.time) + b" " + line.text
        return line.text

    def _cut(self, text: bytes) -> bytes:
        if self._bytes_left is None:
            return text
        text = text[: self._bytes_left]
        self._bytes_left -= len(text)
        return text


def tail_start(size: int, count: int, read: Callable[[int, int], bytes], block_bytes: int = _BLOCK) -> int:
    """Where the last `count` lines of a file begin; `read` takes an offset and a length.

    Lines are counted by their newlines, so that a last line without one comes on top.
    """
    end, missing = size, count + 1
    while end > 0:
        start = max(0, end - block_bytes)
        block = read(start, end - start)
        found = block.count(b"\n")
        if found >= missing:
            at = len(block)
            for _ in range(missing):
                at = block.rindex(b"\n", 0, at)
            return start + at + 1
        missing -= found
        end = start
    return 0
