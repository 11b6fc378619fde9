"""The simulated kernel's cgroup tree behind the port, with the words of the real adapter."""

import errno
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from flexlet.adapters.cgroupfs.faults import refused
from flexlet.adapters.sim import cgroupfiles
from flexlet.adapters.sim.kernel import Kernel
from flexlet.adapters.sim.processes import KILL
from flexlet.adapters.sim.trouble import Trouble, noted
from flexlet.errors import HostBusy, HostError, HostUnsupported, InvariantBroken

MOUNT_POINT: Final = "/sys/fs/cgroup"
"""Only for messages."""


class SimCgroupTree:
    """`flexlet.ports.cgroups.CgroupTree` in memory."""

    def __init__(self, kernel: Kernel, trouble: Trouble | None = None) -> None:
        self.kernel = kernel
        self.trouble = trouble or Trouble()

    def begin(self) -> None:
        """Let everything happen that was due."""
        self.kernel.settle()

    @noted
    async def read(self, path: str, files: Sequence[str]) -> dict[str, str]:
        """The texts of these files; files that are not there are left out."""
        texts = {name: self.kernel.read(path, name) for name in files}
        return {name: text for name, text in texts.items() if text is not None}

    @noted
    async def write(self, path: str, values: Mapping[str, str]) -> None:
        """Write the files in the order given; a controller that the kernel lacks is skipped."""
        _require_below(path)
        for name, text in values.items():
            self._write(path, name, text)

    @noted
    async def create(self, path: str) -> None:
        """Make the cgroup and those above it."""
        _require_below(path)
        self.kernel.machine.mkdir(path)

    @noted
    async def remove(self, path: str) -> None:
        """Kill what is left in it and below, and remove it."""
        _require_below(path)
        for process in self.kernel.machine.inside(path):
            self.kernel.signal(process.pid, KILL)
        if left := [process.pid for process in self.kernel.machine.inside(path)]:
            raise HostBusy(
                f"cannot remove cgroup {MOUNT_POINT}/{path}: processes {left} are still in it after 5 kills"
            )
        for each in reversed(self.kernel.machine.below(path)):
            self.kernel.machine.rmdir(each)

    @noted
    async def exists(self, path: str) -> bool:
        """Whether the cgroup is there."""
        return path in self.kernel.machine.cgroups

    @noted
    async def children(self, path: str) -> tuple[str, ...]:
        """Names of the cgroups directly below, sorted; empty if there is none."""
        depth = len(path) + 1 if path else 0
        names = (each[depth:] for each in self.kernel.machine.below(path) if each != path)
        return tuple(sorted(name for name in names if "/" not in name))

    @noted
    async def processes(self, path: str) -> tuple[int, ...]:
        """Process ids in this cgroup and all below it."""
        return tuple(process.pid for process in self.kernel.machine.inside(path))

    def _write(self, path: str, name: str, text: str) -> None:
        where = f'write "{text}" to {MOUNT_POINT}/{path}/{name}'
        try:
            self.kernel.write(path, name, text)
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise refused(error, where) from error
            if path not in self.kernel.machine.cgroups:
                raise HostError(f"cannot {where}: the cgroup is gone") from error
            if cgroupfiles.controller(name) in self.kernel.machine.controllers and ".rsvd." not in name:
                raise HostUnsupported(f"cannot {where}: this kernel has no {name}") from error


class SimOomScores:
    """`flexlet.adapters.cgroupfs.oomscores.OomScores` for simulated processes."""

    def __init__(self, kernel: Kernel) -> None:
        self._processes = kernel.machine.processes

    async def read(self, pids: Iterable[int]) -> dict[int, int]:
        """The score of each process that is still there."""
        return {pid: self._processes[pid].oom_score_adj for pid in pids if pid in self._processes}

    async def write(self, pids: Iterable[int], score: int) -> None:
        """Give each process this score."""
        for pid in pids:
            if pid in self._processes:
                self._processes[pid].oom_score_adj = score


def _require_below(path: str) -> None:
    if any(part in {"", ".", ".."} for part in path.split("/")):
        raise InvariantBroken(f'"{path}" is no path of a cgroup below {MOUNT_POINT}')
