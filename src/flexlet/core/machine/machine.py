"""The machine under a node, as one frozen value.

Everything that depends on the hardware (capacity, cgroup limits, CPU and memory managers, events about a resize)
is computed from this value and from nothing else, so a plug or an unplug is the difference of two of them.

Must stay true: `cpus` are in the order of their ids; a core is named by its lowest online thread, so the name
changes when that thread goes offline and must never be stored.
"""

import functools

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import Bytes

Pages = dict[int, int]
"""Number of huge pages by their size in bytes."""


class Cpu(msgspec.Struct, frozen=True):
    """One logical CPU that is online."""

    id: int
    core: int
    """The lowest online CPU of the same core."""
    socket: int
    numa: int
    cache: int
    """The id of the last-level cache if that serves only part of a NUMA node, else the socket."""


class NumaNode(msgspec.Struct, frozen=True, kw_only=True):
    """Memory with its own distance to the CPUs; it may have no CPUs, and it may have no memory."""

    id: int
    memory: Bytes = Bytes(0)
    hugepages: Pages = {}
    distances: dict[int, int] = {}
    """To each node that is online, by its id; empty if the kernel does not tell."""
    blocks: tuple[int, ...] = ()
    """Of memory that are there, online or not; a block may lie on two nodes."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who the machine is and what it runs; another boot id means that it was started again."""

    machine_id: str = ""
    system_uuid: str = ""
    boot_id: str = ""
    kernel: str = ""
    os_image: str = ""
    architecture: str = ""
    """In Kubernetes' words: ``amd64``, ``arm64``."""


class HalfPlugged(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that are there and do not count, because somebody has yet to bring them online."""

    offline_cpus: CpuSet = CpuSet()
    settling_cpus: CpuSet = CpuSet()
    """Online, and the kernel has not said yet where they sit."""
    offline_blocks: tuple[int, ...] = ()
    leaving_blocks: tuple[int, ...] = ()
    """Memory blocks that are going offline."""

    @property
    def is_moving(self) -> bool:
        """Whether the kernel is about to change it by itself: worth another look at everything."""
        return bool(self.settling_cpus or self.leaving_blocks)


class Cgroups(msgspec.Struct, frozen=True, kw_only=True):
    """What the cgroup hierarchy offers."""

    unified: bool = False
    """Whether the host is on cgroup v2 throughout."""
    controllers: frozenset[str] = frozenset()
    swap: bool = False
    """Whether cgroups can limit swap."""


class Machine(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The hardware that counts now."""

    cpus: tuple[Cpu, ...] = ()
    possible: CpuSet = CpuSet()
    memory: Bytes = Bytes(0)
    movable: Bytes = Bytes(0)
    """The part of memory that the kernel keeps free of its own data, so that it can be unplugged."""
    swap: Bytes = Bytes(0)
    hugepages: Pages = {}
    """Those that stay: surplus pages, which go when their users do, are no capacity."""
    numa: tuple[NumaNode, ...] = ()
    pids: int = 0
    storage: Bytes | None = None
    """The size of the filesystem that holds the pods' files."""
    block_size: Bytes = Bytes(0)
    """How much memory is plugged at least; 0 if memory cannot be plugged."""
    blocks: tuple[int, ...] = ()
    """All blocks of memory that are there, online or not."""
    movable_blocks: tuple[int, ...] = ()
    """Those that are online and hold nothing but what the kernel can move elsewhere."""
    auto_online: str = ""
    """What the kernel does with new memory (``offline``, ``online``, ...)."""
    identity: Identity = Identity()
    cgroups: Cgroups = Cgroups()
    half_plugged: HalfPlugged = HalfPlugged()

    @functools.cached_property
    def online(self) -> CpuSet:
        """The CPUs that count."""
        return CpuSet.of(cpu.id for cpu in self.cpus)
