"""The state of a simulated machine: its cgroups and its processes, without any behaviour in time."""

import errno
from collections import Counter
from collections.abc import Iterable

import msgspec

from flexlet.adapters.sim import cgroupfiles
from flexlet.adapters.sim.cgroupfiles import CONTROLLERS, refusal
from flexlet.adapters.sim.processes import Process


class Cgroup(msgspec.Struct, eq=False):
    """One cgroup: the files that can be written, and what it has counted."""

    files: dict[str, str]
    shmem: int = 0
    cpu_spent_us: int = 0
    events: Counter[str] = msgspec.field(default_factory=Counter)


class Machine:
    """Cgroups by path (the root's is empty) and processes by pid."""

    def __init__(
        self,
        *,
        memory_total: int | None = None,
        cpus: str = "0-1",
        mems: str = "0",
        controllers: Iterable[str] = CONTROLLERS,
        hugepage_sizes: Iterable[str] = ("2MB", "1GB"),
    ) -> None:
        self.memory_total = memory_total
        """Bytes; None for as much as anybody likes."""
        self.cpus = cpus
        """Those that are online."""
        self.mems = mems
        """The NUMA nodes that are online."""
        self.controllers = tuple(controllers)
        self.hugepage_sizes = tuple(hugepage_sizes)
        self.cgroups: dict[str, Cgroup] = {"": Cgroup({})}
        self.processes: dict[int, Process] = {}

    def below(self, path: str) -> list[str]:
        """A cgroup and all below it, parents first; nothing if it is not there."""
        if not path:
            return sorted(self.cgroups)
        return sorted(each for each in self.cgroups if each == path or each.startswith(f"{path}/"))

    def inside(self, path: str) -> list[Process]:
        """The processes in a cgroup and below."""
        paths = set(self.below(path))
        return [process for process in self.processes.values() if process.cgroup in paths]

    def mkdir(self, path: str) -> None:
        """Make a cgroup and those above it."""
        for each in reversed(lineage(path)):
            if each not in self.cgroups:
                self.cgroups[each] = Cgroup(cgroupfiles.initial(self.controllers, self.hugepage_sizes))

    def rmdir(self, path: str) -> None:
        """Remove a cgroup that has neither children nor processes; what it has counted goes to its parent."""
        if path not in self.cgroups:
            raise refusal(errno.ENOENT)
        if len(self.below(path)) > 1 or self.inside(path):
            raise refusal(errno.EBUSY)
        removed = self.cgroups.pop(path)
        parent = self.cgroups[path.rpartition("/")[0]]
        parent.shmem += removed.shmem
        parent.cpu_spent_us += removed.cpu_spent_us


def lineage(path: str) -> list[str]:
    """A cgroup and all above it, nearest first, the root last."""
    parts = path.split("/") if path else []
    return ["/".join(parts[:depth]) for depth in range(len(parts), -1, -1)]
