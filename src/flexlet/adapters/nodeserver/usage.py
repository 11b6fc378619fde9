"""Measures the node: cgroups through their port, the rest from /proc and the file systems.

Readings are taken when somebody asks, so an idle node does no work for monitoring. Between two pods the loop gets
its turn. A rate needs an earlier reading; the one before is kept for that.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from flexlet.adapters.nodeserver.disks import Disks
from flexlet.core.cgroups.paths import name_of
from flexlet.core.stats import procfiles, readings
from flexlet.core.stats.cgroupfiles import DETAIL_FILES, LEAN_FILES, USAGE_FILES
from flexlet.core.stats.procfiles import InterfaceUse
from flexlet.core.stats.readings import (
    CgroupReading,
    ContainerReading,
    NodeReading,
    PodReading,
    SystemReading,
)
from flexlet.core.stats.sources import ContainerSource, NodeSource, PodSource
from flexlet.errors import FlexletError, HostError
from flexlet.ports.cgroups import CgroupTree
from flexlet.ports.clock import Clock
from flexlet.ports.runtime import Images

ROOT: Final = ""
_PROC_FILES: Final = ("meminfo", "loadavg", "stat", "self/cgroup", "1/net/dev")
_LIMIT_FILES: Final = ("sys/kernel/pid_max", "sys/kernel/threads-max")

LEAN: Final = "lean"
"""CPU, memory and swap."""
BRIEF: Final = "brief"
"""With their pressure."""
FULL: Final = "full"
"""With file systems, networks and processes."""
DETAILED: Final = "detailed"
"""With what only ``/metrics/cadvisor`` shows."""
_FILES: Final = {LEAN: LEAN_FILES, BRIEF: USAGE_FILES, FULL: USAGE_FILES, DETAILED: DETAIL_FILES}


class Usage:
    """Takes readings of the node."""

    def __init__(self, cgroups: CgroupTree, images: Images, clock: Clock, proc: Path = Path("/proc")) -> None:
        self._cgroups = cgroups
        self._images = images
        self._clock = clock
        self._proc = proc
        self._disks = Disks(clock)
        self._started_at = clock.now()
        self._earlier: dict[str, CgroupReading] = {}

    async def measure(self, source: NodeSource, depth: str = FULL) -> NodeReading:
        """A reading of everything now."""
        files = await asyncio.to_thread(self._read_proc, (*_PROC_FILES, *_LIMIT_FILES))
        seen: dict[str, CgroupReading] = {}
        usage = await self._cgroup(ROOT, depth, seen, procfiles.meminfo(files.get("meminfo", "")))
        systems = await self._systems(source, files, depth, seen)
        pods = tuple([await self._pod(pod, depth, seen) for pod in source.pods])
        self._earlier = seen  # what is gone is forgotten
        node = NodeReading(
            name=source.name,
            time=self._clock.now(),
            started_at=procfiles.boot_time(files.get("stat", "")) or 0,
            usage=usage,
            network=procfiles.interfaces(files["1/net/dev"]) if "1/net/dev" in files else None,
            max_tasks=procfiles.max_tasks({name: files[name] for name in _LIMIT_FILES if name in files}),
            tasks=procfiles.tasks(files.get("loadavg", "")),
            systems=systems,
            pods=pods,
        )
        if depth in {LEAN, BRIEF}:
            return node
        return await asyncio.to_thread(self._disks.fill, node, source, await self._image_filesystems())

    async def _cgroup(
        self,
        path: str,
        depth: str,
        seen: dict[str, CgroupReading],
        meminfo: Mapping[str, int] | None = None,
    ) -> CgroupReading | None:
        try:
            files = await self._cgroups.read(path, _FILES[depth])
        except HostError:
            return None
        reading = readings.read_cgroup(files, self._clock.now(), in_detail=depth == DETAILED)
        if reading is None:
            return None
        if meminfo is not None:
            reading = readings.of_root(reading, meminfo)
        earlier = self._earlier.get(path)
        reading = readings.with_rate(reading, earlier)
        is_too_soon = earlier is not None and reading.time - earlier.time < readings.RATE_WINDOW_S
        seen[path] = earlier if earlier is not None and is_too_soon else reading
        return reading

    async def _systems(
        self, source: NodeSource, files: Mapping[str, str], depth: str, seen: dict[str, CgroupReading]
    ) -> tuple[SystemReading, ...]:
        """The agent's own cgroup, if it has one, and that of all pods."""
        own = files.get("self/cgroup", "").strip().rpartition("::/")[2]
        own = "" if ".." in own else own  # seen from inside a namespace, it has no name
        named = (("kubelet", own, self._started_at), ("pods", source.pods_cgroup, 0.0))
        return tuple(
            [
                SystemReading(name=name, cgroup=path, started_at=at, usage=await self._cgroup(path, depth, seen))
                for name, path, at in named
                if path
            ]
        )

    async def _pod(self, pod: PodSource, depth: str, seen: dict[str, CgroupReading]) -> PodReading:
        await asyncio.sleep(0)  # files of cgroups are read without waiting for anything
        containers = tuple([await self._container(each, depth, seen) for each in await self._found(pod)])
        processes: tuple[int, ...] = ()
        network = None
        if depth in {FULL, DETAILED}:
            with contextlib.suppress(HostError):
                processes = await self._cgroups.processes(pod.cgroup)
            network = None if pod.host_network else await asyncio.to_thread(self._network, processes)
        return PodReading(
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            cgroup=pod.cgroup,
            started_at=pod.started_at,
            usage=await self._cgroup(pod.cgroup, depth, seen),
            containers=containers,
            network=network,
            processes=len(processes) if processes else None,
        )

    async def _found(self, pod: PodSource) -> list[ContainerSource]:
        """The containers where the runtime has put them, which depends on it and on the cgroup driver."""
        names: tuple[str, ...] = ()
        with contextlib.suppress(HostError):
            names = await self._cgroups.children(pod.cgroup)
        found = [(each, name_of(each.id, names)) for each in pod.containers]
        return [replace(each, cgroup=f"{pod.cgroup}/{name}") if name else each for each, name in found]

    async def _container(
        self, container: ContainerSource, depth: str, seen: dict[str, CgroupReading]
    ) -> ContainerReading:
        processes = None
        if depth == DETAILED:
            with contextlib.suppress(HostError):
                processes = len(await self._cgroups.processes(container.cgroup))
        return ContainerReading(
            name=container.name,
            id=container.id,
            image=container.image,
            cgroup=container.cgroup,
            started_at=container.started_at,
            usage=await self._cgroup(container.cgroup, depth, seen),
            processes=processes,
        )

    def _network(self, processes: tuple[int, ...]) -> tuple[InterfaceUse, ...] | None:
        """The interfaces that a pod's processes see; any one of them will do."""
        for process in processes:
            files = self._read_proc((f"{process}/net/dev",))
            if files:
                return procfiles.interfaces(next(iter(files.values())))
        return None

    def _read_proc(self, names: tuple[str, ...]) -> dict[str, str]:
        found = {}
        for name in names:
            with contextlib.suppress(OSError):
                found[name] = (self._proc / name).read_text()
        return found

    async def _image_filesystems(self) -> tuple[tuple[str, int, int], ...]:
        try:
            found = await self._images.image_filesystems()
        except FlexletError:
            return ()
        return tuple((each.mountpoint, each.used_bytes, each.inodes_used) for each in found)
