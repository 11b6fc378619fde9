"""What a plan depends on besides the machine: who is here, what they use, how short memory is right now."""

import re
from typing import Final

from flexlet.api.units import Bytes, PodUid
from flexlet.core.agent.world import World
from flexlet.core.cgroups.paths import pod_path
from flexlet.core.hotplug.settings import Evict, ResizeSettings
from flexlet.core.hotplug.settling import Situation
from flexlet.core.hotplug.tenants import Tenant, tenants
from flexlet.core.machine import sources
from flexlet.core.machine.allocatable import eviction_reserved
from flexlet.core.machine.machine import Machine
from flexlet.core.machine.snapshot import Snapshot
from flexlet.core.node.settings import NodeSettings
from flexlet.core.node.status import node_capacity
from flexlet.core.resources.names import MEMORY
from flexlet.engine.agent.loop import AgentLoop
from flexlet.ports.cgroups import CgroupTree
from flexlet.ports.host import HostReader

PRESSURE: Final = "/proc/pressure/memory"
_AVAILABLE: Final = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)
_STALLED: Final = re.compile(r"^full avg10=([0-9.]+)", re.MULTILINE)
_STALLED_PERCENT: Final = 20.0


class Looking:
    """Gathers a `Situation`."""

    def __init__(
        self,
        host: HostReader,
        cgroups: CgroupTree,
        loop: AgentLoop,
        node: NodeSettings,
        resize: ResizeSettings,
        *,
        enforce: bool = True,
    ) -> None:
        self._host = host
        self._cgroups = cgroups
        self._loop = loop
        self._node = node
        self._resize = resize
        self._enforce = enforce

    @property
    def jitter(self) -> Bytes:
        """Growth of memory below this is not worth another size."""
        return self._resize.jitter

    @property
    def evict(self) -> Evict:
        """Whether pods without room are evicted, and when."""
        return self._resize.evict

    @property
    def evict_quiet_s(self) -> float:
        """How long a shortage must last for that."""
        return self._resize.evict_quiet_s

    async def look(self, machine: Machine) -> Situation:
        """The node now."""
        world = self._loop.world
        here = tenants(world)
        return Situation(
            node=self._node,
            resize=self._resize,
            managing=world.setup.managers,
            managers=world.managers,
            cgroups=world.setup.cgroups,
            driver=world.setup.driver,
            tenants=here,
            critical_usage=await self._critical_usage(here, world),
            pressed=is_pressed(await self._host.read((sources.MEMINFO, PRESSURE)), self._margin(machine)),
            enforce=self._enforce,
        )

    async def _critical_usage(self, here: tuple[Tenant, ...], world: World) -> Bytes:
        used = 0
        for each in here:
            if each.is_critical:
                path = pod_path(each.qos, PodUid(each.uid), world.setup.driver)
                found = await self._cgroups.read(path, ("memory.current",))
                used += int(found.get("memory.current", "0"))
        return Bytes(used)

    def _margin(self, machine: Machine) -> int:
        """Below this much free memory the node evicts at once."""
        capacity = node_capacity(self._node, machine, {})
        margin = eviction_reserved(capacity, self._node.reservation.eviction_hard).get(MEMORY)
        return 0 if margin is None else margin.value


def is_pressed(read: Snapshot, margin: int) -> bool:
    """Whether pods cannot be given their time to end: memory is below the margin, or everything waits for it."""
    available = _AVAILABLE.search(read.texts.get(sources.MEMINFO, ""))
    stalled = _STALLED.search(read.texts.get(PRESSURE, ""))
    short = available is not None and int(available[1]) * 1024 < margin
    return short or (stalled is not None and float(stalled[1]) > _STALLED_PERCENT)
