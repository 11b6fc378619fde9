"""The log files of containers: found, linked, read at their end, removed."""

import contextlib
import os
import re
from pathlib import Path
from typing import Final

from flexlet.adapters import beneath

_LOG: Final = re.compile(r"(\d+)\.log")
_CHUNK: Final = 64 * 1024


def highest(directory: Path) -> int | None:
    """The highest restart count in the names of a container's logs."""
    counts = [int(found[1]) for each in _listed(directory) if (found := _LOG.match(each.name)) and each.is_file()]
    return max(counts, default=None)


def _listed(directory: Path) -> list[Path]:
    return list(directory.iterdir()) if directory.is_dir() else []


def link(log: Path, place: Path) -> None:
    """A link by which collectors find the log; none to a log that does not exist."""
    if not log.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(log)


def remove(log: Path, place: Path) -> None:
    """The log, its rotated parts and the link."""
    place.unlink(missing_ok=True)
    for each in _listed(log.parent):
        if each.name == log.name or each.name.startswith(f"{log.name}."):
            each.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        log.parent.rmdir()


def tail(log: Path, lines: int, limit_bytes: int) -> str:
    """The last lines, without the runtime's marks, at most so many bytes of them."""
    try:
        handle = beneath.open_plain(log)
    except OSError:  # none, or a link that somebody put in its place
        return ""
    with os.fdopen(handle, "rb") as file:
        file.seek(max(0, os.fstat(handle).st_size - _CHUNK))
        raw = file.read().decode(errors="replace").removesuffix("\n").split("\n")
    said = "".join(_text(line) for line in raw[-lines:] if line)
    return said.encode()[-limit_bytes:].decode(errors="ignore")


def _text(line: str) -> str:
    """What was said in a line such as ``2016-10-06T00:17:09.669794202Z stdout F text``."""
    parts = line.split(" ", 3)
    if len(parts) < 4:
        return line + "\n"
    return parts[3] + ("\n" if parts[2].startswith("F") else "")
