"""Where audit Events end up: JSON lines in a file that is turned over, or on standard output.

One thread writes; requests only put their Events into a bounded queue. Neither a slow disk nor a full one holds
up a request or ends the server: an Event for which there is no room, or that cannot be written, is dropped and
counted, as in upstream's batch mode. The file is its owner's alone: it holds whatever the policy lets into it.
"""

import logging
import os
import queue
import stat
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from flexlet.errors import ConfigError

STDOUT: Final = "-"
MEGABYTE: Final = 1024 * 1024
DAY_S: Final = 86400.0
QUEUED: Final = 10_000
COMPLAINT_S: Final = 60.0
_MAX_QUEUED_BYTES: Final = 64 * MEGABYTE
_OBJECTS: Final = ("requestObject", "responseObject")
_OMITTED: Final = frozenset({"pruned"})

log: Final = logging.getLogger(__name__)
_encode: Final = msgspec.json.Encoder().encode
Json = dict[str, Any]


class Rotation(msgspec.Struct, frozen=True, kw_only=True):
    """When the file is turned over and what is kept; 0 is without bound, as upstream's flags."""

    max_size_mb: int = 100
    max_backups: int = 0
    max_age_days: int = 0


class LogFile:
    """A file of lines, opened for appending, private, and turned over by size. Blocking; for one thread."""

    def __init__(self, path: Path, rotation: Rotation) -> None:
        self._path = path
        self._rotation = rotation
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._open()
        except OSError as error:
            raise ConfigError(
                f"cannot write the audit log {path}: {error.strerror}; name another file with --audit-log-path"
            ) from error

    def write(self, lines: bytes) -> None:
        """Append; a file that would become too large is turned over first."""
        limit = self._rotation.max_size_mb * MEGABYTE
        if limit and self._size and self._size + len(lines) > limit:
            self._turn_over()
        view = memoryview(lines)
        while view:
            done = os.write(self._file, view)
            self._size += done
            view = view[done:]

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    def _open(self) -> None:
        self._file = os.open(
            self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        found = os.fstat(self._file)
        if stat.S_ISREG(found.st_mode):  # a device or a pipe keeps the mode that it has
            os.fchmod(self._file, 0o600)
        self._size = found.st_size

    def _turn_over(self) -> None:
        stamp = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")[:-3]
        backup = self._path.with_name(f"{self._path.stem}-{stamp}{self._path.suffix}")
        self._path.rename(backup)
        before = self._file
        self._open()
        os.close(before)
        self._clean()

    def _clean(self) -> None:
        """Remove what is too old or too many; the newest are kept."""
        found = sorted(self._path.parent.glob(f"{self._path.stem}-*{self._path.suffix}"), reverse=True)
        keep = self._rotation.max_backups or len(found)
        oldest = time.time() - self._rotation.max_age_days * DAY_S if self._rotation.max_age_days else 0.0
        for index, path in enumerate(found):
            if index >= keep or path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)


class _Output:
    """Standard output as a file of lines."""

    def write(self, lines: bytes) -> None:
        sys.stdout.buffer.write(lines)
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """It is not ours to close."""


class Sink:
    """The queue and the thread behind it."""

    def __init__(self, path: str, rotation: Rotation, *, queued: int = QUEUED) -> None:
        self._output: LogFile | _Output = _Output() if path == STDOUT else LogFile(Path(path), rotation)
        self._queue: queue.Queue[Json | None] = queue.Queue(queued)
        self._bytes = 0
        self._taken = 0
        self._lost = 0
        self._complained = float("-inf")
        self.written = 0
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """Events that never reached the log."""
        return self._lost

    def put(self, event: Json) -> None:
        """Queue an Event; never blocks."""
        size = sum(len(event.get(key) or b"") for key in _OBJECTS)
        if self._bytes - self._taken + size > _MAX_QUEUED_BYTES:
            self._lost += 1
            return
        try:
            self._queue.put_nowait(event)
            self._bytes += size
        except queue.Full:
            self._lost += 1

    def close(self, patience_s: float = 5.0) -> None:
        """Write what is queued, within reason, and end."""
        try:
            self._queue.put(None, timeout=patience_s)
        except queue.Full:
            return
        self._thread.join(patience_s)

    def _run(self) -> None:
        while (event := self._queue.get()) is not None:
            self._taken += sum(len(event.get(key) or b"") for key in _OBJECTS)
            try:
                self._output.write(line(event))
                self.written += 1
            except Exception as error:  # noqa: BLE001  whatever one Event or the disk does, the next one is tried
                self._lost += 1
                self._complain(error)
        self._output.close()

    def _complain(self, error: Exception) -> None:
        """Once a minute: a full disk would otherwise fill the other log too."""
        now = time.monotonic()
        if now - self._complained >= COMPLAINT_S:
            self._complained = now
            log.error("audit event lost", extra={"error": repr(error), "lost": self._lost})


def line(event: Json) -> bytes:
    """An Event as upstream writes it, without its empty fields."""
    shown = {key: value for key, value in event.items() if value not in (None, "") and key not in _OMITTED}
    for key in ("requestReceivedTimestamp", "stageTimestamp"):
        shown[key] = _micro(event[key])
    if event.get("objectRef"):
        shown["objectRef"] = {key: value for key, value in event["objectRef"].items() if value}
    for key in _OBJECTS:
        if event.get(key):
            shown[key] = _object(event[key], pruned=event["pruned"])
    return _encode(shown) + b"\n"


def _object(body: bytes, *, pruned: bool) -> Any:
    if not pruned or b'"managedFields"' not in body:
        return msgspec.Raw(body.strip())
    value = msgspec.json.decode(body)
    for item in (value, *(value.get("items") or ())):
        (item.get("metadata") or {}).pop("managedFields", None)
    return value


def _micro(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
