"""The facts of a simulated machine: which parts it has and in which state they are."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Literal

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import GIB, MIB
from flexlet.core.machine.parts import Kind

if TYPE_CHECKING:
    import asyncio

    from flexlet.adapters.sim.machine import Machine
    from flexlet.ports.uevents import Overrun, Uevent

State = Literal["online", "offline", "going-offline"]

BLOCK: Final = 128 * MIB
PAGE_SIZES: Final = (2 * MIB, GIB)


class Hardware:
    """CPUs, memory, NUMA nodes, swap and huge pages."""

    def __init__(
        self,
        cpus: str = "0-1",
        memory: int = 2 * GIB,
        *,
        numa: Sequence[str] = (),
        storage: int = 20 * GIB,
        swap: int = 0,
        auto_online: str = "online",
        udev: Iterable[Kind] = ("cpu",),
        cores: int | None = None,
    ) -> None:
        self.present = set(CpuSet.parse(cpus))
        self.awake = set(self.present)
        """The CPUs that are online."""
        self.settling: set[int] = set()
        """CPUs of which the kernel has not said where they sit."""
        self.homes = {cpu: node for node, part in enumerate(numa) for cpu in CpuSet.parse(part)}
        """The NUMA node of each CPU; 0 for those that are not named."""
        self.cores = cores
        """With so many cores CPU n is a thread of core n modulo that; None for a core per CPU."""
        self.nodes = dict.fromkeys(range(max(1, len(numa))), memory // max(1, len(numa)))
        """Memory by NUMA node."""
        self.blocks: dict[int, State] = dict.fromkeys(range(memory // BLOCK), "online")
        self.block_homes = {block: block * len(self.nodes) // len(self.blocks) for block in self.blocks}
        """The NUMA node of each block; those of one lie together."""
        self.movable: set[int] = set()
        """Blocks that hold nothing of the kernel."""
        self.hugepages: dict[tuple[int, int], int] = {(n, size): 0 for n in self.nodes for size in PAGE_SIZES}
        """Pages by node and size."""
        self.surplus: dict[tuple[int, int], int] = {}
        self.swap = swap
        self.storage = storage
        self.pids = 15310
        self.auto_online = auto_online
        """What the kernel does with new memory."""
        self.udev: set[Kind] = set(udev)
        """What udev brings online; the machine has the rule, and acts on it."""
        self.refusals: dict[str, int] = {}
        """Parts that do not switch, by name, with the number of the kernel's answer."""
        self.is_unreadable = False
        """Whether /proc/meminfo says nothing now."""
        self.looks: list[int] = []
        """How many files each look has read."""
        self.machine: Machine | None = None
        """The cgroups' side of the same machine; kept in step."""
        self.listeners: list[asyncio.Queue[Uevent | Overrun]] = []
        self.swap_listeners: list[asyncio.Queue[None]] = []

    @property
    def total(self) -> int:
        """MemTotal."""
        return sum(self.nodes.values())
