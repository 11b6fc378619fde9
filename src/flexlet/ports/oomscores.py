"""How willingly the kernel kills a process when memory runs out, process by process."""

from collections.abc import Iterable
from typing import Protocol


class OomScores(Protocol):
    """The scores of running processes; one that has ended meanwhile needs none."""

    async def read(self, pids: Iterable[int]) -> dict[int, int]:
        """The score of each process that is still there."""
        ...

    async def write(self, pids: Iterable[int], score: int) -> None:
        """Give each process this score; HostError if the kernel refuses."""
        ...
