"""Who holds what: the books of the managers, one frozen value.

What the kubelet keeps in its state files is here under the same names, plus what it only remembers (`reserved`,
`hints`). Must stay true: an exclusive CPU is in one set only, never in `shared`, never reserved, always online.
"""

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.hints import Hint

Sets = dict[str, dict[str, CpuSet]]
"""By pod uid and container."""


class CpuState(msgspec.Struct, frozen=True, kw_only=True):
    """The CPU manager's book."""

    policy: str = "none"
    shared: CpuSet = CpuSet()
    """``defaultCpuSet``: where everybody runs who has no CPU of its own."""
    entries: Sets = {}
    reserved: CpuSet = CpuSet()
    """Never handed out; sticky, so it is kept while its members are online."""
    pod_entries: dict[str, CpuSet] = {}
    """Read from a kubelet's file and written back; nothing here makes any."""
    baselines: Sets = {}

    def cpus_of(self, uid: str, container: str) -> CpuSet | None:
        """The CPUs that a container has for itself, None if it shares."""
        return self.entries.get(uid, {}).get(container)


class MemoryTable(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of memory on one NUMA node, in bytes."""

    total: int = 0
    system_reserved: int = 0
    allocatable: int = 0
    reserved: int = 0
    free: int = 0


class NumaState(msgspec.Struct, frozen=True, kw_only=True):
    """One NUMA node in the memory manager's book."""

    assignments: int = 0
    tables: dict[str, MemoryTable] = {}
    cells: tuple[int, ...] = ()
    """The nodes that are used as one group with it, itself included."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Memory that a container holds."""

    nodes: tuple[int, ...]
    type: str
    size: int


Blocks = dict[str, dict[str, tuple[Block, ...]]]
"""By pod uid and container."""


class MemoryState(msgspec.Struct, frozen=True, kw_only=True):
    """The memory manager's book."""

    policy: str = "None"
    nodes: dict[int, NumaState] = {}
    entries: Blocks = {}
    pod_entries: dict[str, tuple[Block, ...]] = {}

    def nodes_of(self, uid: str, container: str) -> CpuSet | None:
        """Where a container's memory must lie, None if anywhere."""
        blocks = self.entries.get(uid, {}).get(container, ())
        return CpuSet.of(node for block in blocks for node in block.nodes) or None


class Managers(msgspec.Struct, frozen=True, kw_only=True):
    """All books of one node."""

    cpu: CpuState = CpuState()
    memory: MemoryState = MemoryState()
    hints: dict[str, dict[str, Hint]] = {}
    """What the topology manager decided, by pod uid and container."""
    numa: tuple[int, ...] = ()
    """The NUMA nodes that alignment works with; a node too many is left out."""
    cpu_version: int = 4
    """Of ``cpu_manager_state`` as it was found; the same version is written again."""
    memory_version: int = 3
    """Of ``memory_manager_state``."""

    def placed(self, uid: str) -> bool:
        """Whether anything is recorded of a pod."""
        return uid in self.cpu.entries or uid in self.memory.entries or uid in self.hints


class Refusal(msgspec.Struct, frozen=True):
    """Why a pod cannot be placed: status.reason, and the message without its prefix."""

    reason: str
    message: str
