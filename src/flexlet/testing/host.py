"""A machine to look at: what /proc and /sys would say of so many CPUs and so much memory."""

import fnmatch
from collections.abc import Iterator, Sequence

from flexlet.api.cpuset import CpuSet
from flexlet.core.machine import sources
from flexlet.core.machine.snapshot import Filesystem, Snapshot

KIB = 1024
GIB = 1024**3


class SimHost:
    """`flexlet.ports.host.HostReader` of a machine whose parts come and go as a story says."""

    def __init__(self, cpus: str = "0-1", memory: int = 2 * GIB, *, storage: int = 20 * GIB) -> None:
        self.cpus = cpus
        """The ids of those that are online."""
        self.memory = memory
        self.storage = storage
        self.pids = 15310

    async def read(self, paths: Sequence[str], filesystems: Sequence[str] = ()) -> Snapshot:
        """The texts that were asked for."""
        found = {
            path: text
            for path, text in self._texts()
            if path in paths or any(fnmatch.fnmatchcase(path, each) for each in paths)
        }
        sizes = Filesystem(capacity=self.storage, available=self.storage, inodes=10**6, inodes_free=10**6)
        return Snapshot(texts=found, filesystems=dict.fromkeys(filesystems, sizes), architecture="x86_64")

    def _texts(self) -> Iterator[tuple[str, str]]:
        total = f"MemTotal: {self.memory // KIB} kB\n"
        yield sources.MEMINFO, f"{total}SwapTotal: 0 kB\n"
        yield sources.PID_MAX, "4194304\n"
        yield sources.THREADS_MAX, f"{self.pids}\n"
        for path in (sources.CPUS_ONLINE, sources.CPUS_PRESENT):
            yield path, f"{self.cpus}\n"
        yield sources.CPUS_POSSIBLE, "0-63\n"
        yield sources.NODES_ONLINE, "0\n"
        yield f"{sources.NODE}/node0/meminfo", f"Node 0 {total}"
        yield f"{sources.NODE}/node0/distance", "10\n"
        for cpu in CpuSet.parse(self.cpus):
            yield f"{sources.NODE}/node0/cpu{cpu}", ""
            yield f"{sources.CPU}/cpu{cpu}/topology/physical_package_id", "0\n"
            yield f"{sources.CPU}/cpu{cpu}/topology/core_id", f"{cpu}\n"
        for size in (2 * KIB, 1024 * KIB):
            yield f"{sources.HUGEPAGES}/hugepages-{size}kB/nr_hugepages", "0\n"
            yield f"{sources.NODE}/node0/hugepages/hugepages-{size}kB/nr_hugepages", "0\n"
        yield sources.CONTROLLERS, "cpuset cpu io memory hugetlb pids\n"
        yield f"{sources.CGROUP}/kubepods/memory.swap.max", "max\n"
        yield sources.BLOCK_SIZE, "8000000\n"
        yield sources.BOOT_ID, "5c0ee9a1-2b1e-4fb2-9d6b-7a3a6b5c1d11\n"
        yield sources.KERNEL, "6.1.0\n"
        yield sources.OS_RELEASE[0], 'PRETTY_NAME="Simulated Linux"\n'
        yield sources.MACHINE_ID[0], "d41d8cd98f00b204e9800998ecf8427e\n"
