"""The cgroup contract on a real kernel, as root: ``python3 -m flexlet.testing.contract_cgroups [MOUNT_POINT]``."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from flexlet.adapters.cgroupfs.check import MOUNT_POINT
from flexlet.adapters.cgroupfs.tree import CgroupfsTree
from flexlet.testing.cgroup_checks import CHECKS, CgroupBench
from flexlet.testing.checks import run

_SLEEPER: Final = """
import sys, time
open(sys.argv[1], "w").write("0")  # moves itself, before it takes its memory
used = bytearray(b"x" * int(sys.argv[2]))
print(flush=True)
time.sleep(600)
"""


class RealBench:
    """Cgroups of a kernel, and processes that sleep in them."""

    def __init__(self, root: Path = MOUNT_POINT) -> None:
        self.tree = CgroupfsTree(root)
        self.path = f"flexlet-contract-{os.getpid()}"
        self._root = root
        self._children: list[asyncio.subprocess.Process] = []

    def at(self, *names: str) -> str:
        """The path of a cgroup below."""
        return "/".join((self.path, *names))

    async def start_process(self, path: str, memory: int = 0) -> int:
        """Start a process in a cgroup, and wait until it has its memory."""
        command = (sys.executable, "-S", "-c", _SLEEPER, str(self._root / path / "cgroup.procs"), str(memory))
        child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        self._children.append(child)
        if child.stdout is not None:
            await child.stdout.readline()
        return child.pid

    async def wait(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """Leave nothing behind."""
        await self.tree.remove(self.path)
        for child in self._children:
            await child.wait()
        self.tree.close()


async def main(root: Path) -> int:
    """Check them all; the number that failed."""
    bench = RealBench(root)
    checked: CgroupBench = bench
    try:
        return await run(checked, CHECKS)
    finally:
        await bench.close()


if __name__ == "__main__":
    sys.exit(min(1, asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else MOUNT_POINT))))
