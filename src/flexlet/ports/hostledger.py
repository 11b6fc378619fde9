"""A small file that all agents of one host share."""

from collections.abc import Callable
from typing import Protocol


class HostLedger(Protocol):
    """Read, changed and written by one agent at a time."""

    async def change(self, how: Callable[[bytes | None], bytes]) -> None:
        """Replace the content by what `how` makes of it, None if there is none yet; on return it is on disk.

        Nobody else reads or writes meanwhile. HostError if that cannot be had, and nothing was changed; what `how`
        raises comes through.
        """
        ...
