"""What can happen to the machine of a story."""

import asyncio
from collections.abc import Mapping
from typing import Any

from flexlet.adapters.sim.hardware import BLOCK
from flexlet.api.cpuset import CpuSet
from flexlet.api.quantity import Quantity
from flexlet.core.machine.parts import Part
from flexlet.errors import HostError
from flexlet.ports.uevents import Uevent
from flexlet.testing import SimulatedNode

Json = dict[str, Any]


def size(text: Any) -> int:
    """``8Gi`` in bytes."""
    return Quantity.parse(str(text)).value


class Hardware:
    """Hands that plug, unplug, and break."""

    def __init__(self, node: SimulatedNode) -> None:
        self.node = node
        self.host = node.host
        self.broken: list[str] = []
        self.pages_in_use = 0
        self._write = node.sim.cgroups.write
        node.sim.cgroups.write = self._written  # type: ignore[method-assign]

    async def set_cpus(self, listed: Any) -> None:
        self.host.cpus = str(listed)

    async def plug_cpus(self, listed: Any) -> None:
        """They are there; who brings them online is another question."""
        self.host.plug_cpus(CpuSet.parse(str(listed)))

    async def offline(self, listed: Any) -> None:
        """CPUs stay in the machine and are switched off."""
        for cpu in CpuSet.parse(str(listed)):
            self.host.sleep(cpu)

    async def online(self, listed: Any) -> None:
        for cpu in CpuSet.parse(str(listed)):
            self.host.wake(cpu)

    async def set_memory(self, amount: Any) -> None:
        """Blocks of NUMA node 0 are plugged or unplugged until there is so much in all."""
        missing = size(amount) - self.host.memory
        if missing > 0:
            self.host.plug_memory(missing)
        own = sorted(block for block in self.host.blocks if self.host.block_homes.get(block, 0) == 0)
        self.host.unplug_blocks(reversed(own[len(own) + min(0, missing) // BLOCK :]))

    async def plug_memory(self, amount: Any) -> None:
        self.host.plug_memory(size(amount))

    async def online_memory(self, blocks: Any) -> None:
        """As an administrator does it."""
        for block in CpuSet.parse(str(blocks)):
            self.host.fill(block, "online")

    async def inflate(self, amount: Any) -> None:
        """MemTotal becomes that, and nobody is told."""
        self.host.set_memory(size(amount))

    async def hugepages(self, counts: dict[str, int]) -> None:
        for page, count in counts.items():
            self.host.set_hugepages(size(page), count, in_use=self.pages_in_use)

    async def use_hugepages(self, count: int) -> None:
        """So many cannot be given back."""
        self.pages_in_use = count

    async def swap(self, amount: Any) -> None:
        self.host.swapoff()
        if amount:
            self.host.swapon(size(amount))

    async def alternate(self, how: Json) -> None:
        """Between two sizes, so often in so many seconds."""
        pause = how["seconds"] / how["times"]
        for number in range(how["times"]):
            await self.set_memory(how["sizes"][(number + 1) % 2])
            await asyncio.sleep(pause)

    async def storm(self, count: int) -> None:
        """Events about nothing at all."""
        for number in range(count):
            self.host.tell(Uevent("change", f"/devices/system/cpu/cpu{number % 4}", "cpu"))

    async def lose(self, _: Any) -> None:
        self.host.overrun()

    async def refuse(self, part: str) -> None:
        self.host.refuse(str(Part.parse(part)))

    async def plug_node(self, how: Json) -> None:
        """Another NUMA node, with CPUs and memory of its own."""
        self.host.plug_node(how["id"], size(how.get("memory", 0)))
        self.host.plug_cpus(CpuSet.parse(str(how.get("cpus", ""))), node=how["id"])

    async def unplug_node(self, number: int) -> None:
        self.host.unplug_node(number)

    async def set_storage(self, amount: Any) -> None:
        self.host.storage = size(amount)

    async def settling(self, listed: Any) -> None:
        """The kernel does not say yet where these CPUs sit."""
        self.host.settling = set(CpuSet.parse(str(listed)))

    async def blind(self, is_unreadable: Any) -> None:
        self.host.is_unreadable = bool(is_unreadable)

    async def break_writes(self, files: list[str]) -> None:
        """The kernel refuses what is written to these files of any cgroup."""
        self.broken = files

    async def _written(self, path: str, values: Mapping[str, str]) -> None:
        for name in values:
            if name in self.broken:
                raise HostError(f'cannot write "{values[name]}" to {path}/{name}: Input/output error')
        await self._write(path, values)
