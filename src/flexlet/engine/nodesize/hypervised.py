"""A MachineEnd on a Hypervisor: CPUs and memory apart, so that what refuses does not hold up the other."""

from typing import Final

import msgspec

from flexlet.core.lab.plans import Refused
from flexlet.core.nodesize.modules import removable, stays
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
        dimms = (await self._hypervisor.memory()).dimms
        return MachineSize(size.cpus, size.memory, modules=tuple(dimm.size for dimm in dimms))

    async def plug(self, cpus: int, memory: int) -> MachineSize:
        """Add this many CPUs and bytes."""
        return await self._both(sizing.plug, cpus, memory)

    async def unplug(self, cpus: int, memory: int) -> MachineSize:
        """Take out this many CPUs, and of the memory the modules that fit into the wish."""
        dimms = (await self._hypervisor.memory()).dimms
        whole = removable((dimm.size for dimm in dimms), memory)
        size = await self._both(sizing.unplug, cpus, whole)
        if whole == memory or size.refusal:
            return size
        return msgspec.structs.replace(size, refusal=stays(memory - whole))

    async def _both(self, deed: Deed, cpus: int, memory: int) -> MachineSize:
        wishes = [Wish(cpus=cpus, patience_s=self._patience_s)] if cpus else []
        wishes += [Wish(memory=memory, patience_s=self._patience_s)] if memory else []
        refusals = [_refusal(await deed(self._hypervisor, None, wish)) for wish in wishes]
        size = await self.measure()
        return msgspec.structs.replace(size, refusal="; ".join(filter(None, refusals)))


def _refusal(answer: Change | Refused) -> str:
    found = answer if isinstance(answer, Refused) else answer.refusal
    return found.message if found else ""
