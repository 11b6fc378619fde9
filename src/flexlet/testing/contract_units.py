"""The cgroup contract on a host that systemd runs, as root: ``python3 -m flexlet.testing.contract_units``."""

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Final

from flexlet.adapters.units.manager import SystemdManager
from flexlet.adapters.units.tree import SystemdTree
from flexlet.core.cgroups.units import slice_path
from flexlet.testing.cgroup_checks import UNIT_CHECKS, CgroupBench
from flexlet.testing.checks import Check, expect, run
from flexlet.testing.contract_cgroups import RealBench

if TYPE_CHECKING:
    from flexlet.ports.cgroups import CgroupTree

_VALUES: Final = {
    "cpu.weight": "39",
    "cpu.max": "20000 100000",
    "memory.max": "104857600",
    "memory.high": "96468992",
    "memory.min": "4096",
    "memory.low": "8192",
    "pids.max": "100",
    "cpuset.cpus": "0",
}
_SETTLES_S: Final = 1.0
"""systemd writes a little later than it answers."""


class UnitBench:
    """Slices of a systemd, and processes that sleep in them."""

    def __init__(self) -> None:
        self._files = RealBench()
        self._manager = SystemdManager()
        self._name = f"flexletcontract{os.getpid()}"
        self.tree: CgroupTree = SystemdTree(self._files.tree, self._manager)
        self.path = self.at()

    def at(self, *names: str) -> str:
        """The path of a slice below."""
        return slice_path("-".join((self._name, *names)) + ".slice")

    async def start_process(self, path: str, memory: int = 0) -> int:
        """Start a process in a slice, and wait until it has its memory."""
        return await self._files.start_process(path, memory)

    async def wait(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """Leave nothing behind."""
        await self.tree.remove(self.path)
        await self._files.close()
        self._manager.close()


async def values_outlive_a_reload(bench: CgroupBench) -> None:
    """What systemd knows it keeps: when it reads its units again, and when it starts others beside."""
    path = bench.at("reloaded")
    await bench.tree.create(path)
    await bench.tree.write(path, _VALUES)
    await bench.wait(_SETTLES_S)
    expect(await bench.tree.read(path, tuple(_VALUES)), _VALUES, "before")
    for command in ("daemon-reload", "daemon-reexec"):
        child = await asyncio.create_subprocess_exec("systemctl", command)
        expect(await child.wait(), 0, command)
        await bench.tree.create(bench.at("reloaded", command.rpartition("-")[2]))
        await bench.wait(_SETTLES_S)
        expect(await bench.tree.read(path, tuple(_VALUES)), _VALUES, command)


CHECKS: Final[tuple[Check[CgroupBench], ...]] = (*UNIT_CHECKS, values_outlive_a_reload)


async def main() -> int:
    """Check them all; the number that failed."""
    bench = UnitBench()
    try:
        return await run(bench, CHECKS)
    finally:
        await bench.close()


if __name__ == "__main__":
    sys.exit(min(1, asyncio.run(main())))
