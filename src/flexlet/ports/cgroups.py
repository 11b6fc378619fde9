"""The cgroup v2 tree below one mount point.

Paths are relative to the mount point (``kubepods/burstable/pod1234``), without a leading slash. Failures are
`HostError`; `HostBusy` when the kernel refuses for now (a limit below usage that cannot be reclaimed, a cgroup
that still has processes), `HostUnsupported` when a file does not exist on this kernel.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol


class CgroupTree(Protocol):
    """Reading and writing cgroup files; every call may take a thread, none blocks the loop."""

    async def read(self, path: str, files: Sequence[str]) -> dict[str, str]:
        """The texts of these files without the last newline; files that are not there are left out."""
        ...

    async def write(self, path: str, values: Mapping[str, str]) -> None:
        """Write the files in the order given; a controller that the kernel lacks is skipped."""
        ...

    async def create(self, path: str) -> None:
        """Make the cgroup and those above it, with every controller of the root handed down; may be repeated."""
        ...

    async def remove(self, path: str) -> None:
        """Kill what is left in it and below, and remove it; may be repeated."""
        ...

    async def exists(self, path: str) -> bool:
        """Whether the cgroup is there."""
        ...

    async def children(self, path: str) -> tuple[str, ...]:
        """Names of the cgroups directly below, sorted; empty if there is none."""
        ...

    async def processes(self, path: str) -> tuple[int, ...]:
        """Process ids in this cgroup and all below it."""
        ...
