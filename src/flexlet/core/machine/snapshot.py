"""What was read from a host, before anybody has made sense of it.

A snapshot is taken in one go and then parsed purely, so that a machine can be written down as text in a test, and
so that one reading explains one decision. Paths are those of the host (`/proc/meminfo`), whatever the root was.
"""

import re
from collections.abc import Iterator

import msgspec


class Filesystem(msgspec.Struct, frozen=True, kw_only=True):
    """The size of a filesystem, in bytes and inodes; `available` is what is left for users who are not root."""

    capacity: int
    available: int = 0
    inodes: int = 0
    inodes_free: int = 0


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Texts by path; what does not exist is absent, and a directory that was asked for has an empty text."""

    texts: dict[str, str] = {}
    unreadable: dict[str, str] = {}
    """What exists and could not be read: path and the system's reason."""
    filesystems: dict[str, Filesystem] = {}
    architecture: str = ""
    """As ``uname -m`` says it."""

    def text(self, path: str) -> str | None:
        """The text of a file without white space around it, None if there is no such file."""
        found = self.texts.get(path)
        return None if found is None else found.strip()

    def matching(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str]]:
        """The files whose whole path matches, with their stripped texts."""
        for path, text in self.texts.items():
            match = pattern.fullmatch(path)
            if match is not None:
                yield match, text.strip()
