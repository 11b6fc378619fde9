"""The cgroup tree of a host on which systemd owns it.

Looking is looking at files. A value goes into its file first and to systemd then: the kernel's refusal is heard as
it is, and systemd writes what is there already, so it does not sit in the kernel while memory is reclaimed. A
cgroup that is no unit (below a scope) is a matter of files alone.
"""

import contextlib
from collections.abc import Mapping, Sequence

from flexlet.adapters.units.manager import SystemdManager
from flexlet.core.cgroups import units
from flexlet.errors import HostError
from flexlet.ports.cgroups import CgroupTree


class SystemdTree:
    """`flexlet.ports.cgroups.CgroupTree` whose slices and scopes are systemd's."""

    def __init__(self, files: CgroupTree, manager: SystemdManager) -> None:
        self._files = files
        self._manager = manager
        self._started: set[str] = set()

    async def read(self, path: str, files: Sequence[str]) -> dict[str, str]:
        """The texts of these files; files that are not there are left out."""
        return await self._files.read(path, files)

    async def write(self, path: str, values: Mapping[str, str]) -> None:
        """Write the files in the order given, and let systemd know."""
        unit = units.unit_of(path)
        if not unit:
            await self._files.write(path, values)
            return
        written = units.rounded(values)
        await self._files.write(path, written)
        if told := units.properties(written):
            await self._manager.change(unit, told)

    async def create(self, path: str) -> None:
        """Start the slice and those above it, with every controller of the root handed down."""
        for unit in units.slices(path):
            # What an earlier agent made as a directory alone is started once, too.
            if unit not in self._started or not await self._files.exists(units.slice_path(unit)):
                await self._manager.start(unit, units.new_slice(unit))
                self._started.add(unit)
        await self._files.create(path)

    async def remove(self, path: str) -> None:
        """Kill what is left in it and below, stop the unit with those below, and remove what that leaves."""
        unit = units.unit_of(path)
        if unit:
            await self._kill(path)
            await self._manager.stop(unit)
            self._started = {each for each in self._started if not _is_below(each, unit)}
        await self._files.remove(path)

    async def exists(self, path: str) -> bool:
        """Whether the cgroup is there."""
        return await self._files.exists(path)

    async def children(self, path: str) -> tuple[str, ...]:
        """Names of the cgroups directly below, sorted; empty if there is none."""
        return await self._files.children(path)

    async def processes(self, path: str) -> tuple[int, ...]:
        """Process ids in this cgroup and all below it."""
        return await self._files.processes(path)

    def close(self) -> None:
        """Hang up; the files are closed by whoever opened them."""
        self._manager.close()

    async def _kill(self, path: str) -> None:
        """Without asking first and waiting, as systemd would; what cannot be killed here is left to it."""
        if await self._files.processes(path):
            with contextlib.suppress(HostError):
                await self._files.write(path, {"cgroup.kill": "1"})


def _is_below(unit: str, top: str) -> bool:
    """Whether a slice is this one or one below it."""
    return f"{unit.removesuffix(units.SLICE)}-".startswith(f"{top.removesuffix(units.SLICE)}-")
