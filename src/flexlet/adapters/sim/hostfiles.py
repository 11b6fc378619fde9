"""Files of the simulated host, as far as containers touch them: logs, last words, volumes.

In memory by default. An agent that keeps its pods' files on a real disk gives its runtime the same disk.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from flexlet.core.runtime.configs import Mount


class HostFiles(Protocol):
    """Small text files by absolute path."""

    def read(self, path: str) -> str | None:
        """A file's text; None if it is not there."""
        ...

    def write(self, path: str, text: str, *, append: bool = False) -> None:
        """Make or replace a file, or add to it."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        ...


class MemoryFiles:
    """Files in a dict."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def read(self, path: str) -> str | None:
        """A file's text; None if it is not there."""
        return self.texts.get(path)

    def write(self, path: str, text: str, *, append: bool = False) -> None:
        """Make or replace a file, or add to it."""
        self.texts[path] = self.texts.get(path, "") + text if append else text

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        self.texts.pop(path, None)


class ImageFiles(MemoryFiles):
    """Files of an image, which nobody can change: what is written there is lost."""

    def __init__(self, texts: dict[str, str]) -> None:
        super().__init__()
        self.texts = texts

    def write(self, path: str, text: str, *, append: bool = False) -> None:
        """Change nothing."""

    def remove(self, path: str) -> None:
        """Change nothing."""


class DiskFiles:
    """Files where their paths say."""

    def read(self, path: str) -> str | None:
        """A file's text; None if it is not there."""
        try:
            return Path(path).read_text(encoding="utf-8")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None

    def write(self, path: str, text: str, *, append: bool = False) -> None:
        """Make or replace a file, or add to it."""
        with Path(path).open("a" if append else "w", encoding="utf-8") as file:
            file.write(text)

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        Path(path).unlink(missing_ok=True)


class ContainerFiles:
    """What one run of a container sees: its mounts, and files of its own that go with it."""

    def __init__(
        self, host: HostFiles, mounts: tuple[Mount, ...] = (), images: Mapping[str, dict[str, str]] | None = None
    ) -> None:
        self._host = host
        self._own = MemoryFiles()
        self._images = {path: ImageFiles(texts) for path, texts in (images or {}).items()}
        self._mounts = sorted(mounts, key=lambda mount: len(mount.container_path), reverse=True)

    def read(self, path: str) -> str | None:
        """A file's text; None if it is not there."""
        files, place = self._place(path)
        return files.read(place)

    def write(self, path: str, text: str, *, append: bool = False) -> None:
        """Make or replace a file, or add to it."""
        files, place = self._place(path)
        files.write(place, text, append=append)

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        files, place = self._place(path)
        files.remove(place)

    def is_in_memory(self, path: str) -> bool:
        """Whether a file's pages cannot be dropped; an emptyDir is taken for one in memory."""
        return "empty-dir" in self._place(path)[1]

    def _place(self, path: str) -> tuple[HostFiles, str]:
        for mount in self._mounts:
            inside = mount.container_path.rstrip("/")
            if path == inside or path.startswith(f"{inside}/"):
                if mount.image is not None:
                    return self._images[mount.container_path], path[len(inside) :].strip("/")
                return self._host, mount.host_path.rstrip("/") + path[len(inside) :]
        return self._own, path
