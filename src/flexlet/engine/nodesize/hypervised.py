"""A MachineEnd on a Hypervisor: CPUs and memory apart, so that what refuses does not hold up the other."""

from typing import Final

from flexlet.core.lab.devices import Memory
from flexlet.core.lab.plans import Refused
from flexlet.engine.lab import sizing
from flexlet.engine.lab.sizing import Change, Deed, Wish
from flexlet.ports.hypervisor import Hypervisor
from flexlet.ports.machineend import MachineSize

PATIENCE_S: Final = 60.0


class HypervisedEnd:
    """One machine; the guest's agent brings online what is plugged."""

    def __init__(self, hypervisor: Hypervisor, patience_s: float = PATIENCE_S) -> None:
        self._hypervisor = hypervisor
        self._patience_s = patience_s

    async def measure(self) -> MachineSize:
        """How big it is."""
        size = await sizing.measure(self._hypervisor, None)
        return MachineSize(size.cpus, size.memory)

    async def plug(self, cpus: int, memory: int) -> MachineSize:
        """Add this many CPUs and bytes."""
        return await self._both(sizing.plug, cpus, memory)

    async def unplug(self, cpus: int, memory: int) -> MachineSize:
        """Take out this many CPUs, and of the memory the modules that fit into the wish."""
        whole = removable(await self._hypervisor.memory(), memory) if memory else 0
        size = await self._both(sizing.unplug, cpus, whole)
        if whole == memory or size.refusal:
            return size
        text = f"{memory - whole} bytes of memory are not in modules that can be taken out"
        return MachineSize(size.cpus, size.memory, text)

    async def _both(self, deed: Deed, cpus: int, memory: int) -> MachineSize:
        wishes = [Wish(cpus=cpus, patience_s=self._patience_s)] if cpus else []
        wishes += [Wish(memory=memory, patience_s=self._patience_s)] if memory else []
        refusals = [_refusal(await deed(self._hypervisor, None, wish)) for wish in wishes]
        size = await self.measure()
        return MachineSize(size.cpus, size.memory, "; ".join(filter(None, refusals)))


def removable(memory: Memory, wish: int) -> int:
    """How much of a wish can be made of whole modules."""
    sums = {0}
    for dimm in memory.dimms:
        sums |= {total + dimm.size for total in sums if total + dimm.size <= wish}
    return max(sums)


def _refusal(answer: Change | Refused) -> str:
    found = answer if isinstance(answer, Refused) else answer.refusal
    return found.message if found else ""
