"""Small files that must survive a crash: what was allocated, what was actuated."""

from typing import Protocol


class Checkpoints(Protocol):
    """Whole files, replaced atomically."""

    async def load(self, name: str) -> bytes | None:
        """The content, None if there is no such file."""
        ...

    async def save(self, name: str, data: bytes) -> None:
        """Replace it; on return it is on disk. Failures are `HostError` and leave the old content."""
        ...

    async def set_aside(self, name: str) -> str:
        """Rename a file that cannot be used to NAME.bad, and say where it is now. Failures are `HostError`."""
        ...

    def path(self, name: str) -> str:
        """Where it lies, for messages."""
        ...
