"""Telling other programs on this host how large the node is."""

from typing import Protocol


class Notices(Protocol):
    """One line at a time, for whoever listens now and whoever comes later."""

    async def tell(self, line: bytes) -> None:
        """Replace what was told before; HostError if it cannot be kept for those who come later."""
        ...

    async def serve(self) -> None:
        """Until cancelled: let others listen; HostError if they cannot."""
        ...
