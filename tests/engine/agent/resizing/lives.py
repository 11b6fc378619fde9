"""Random lives of a node whose machine changes under its pods, while everything goes wrong that can.

A life is a list of `happenings`, drawn beforehand, so that one that goes wrong can be told again and made shorter.
In the end nothing fails any more and time passes: then the node must be what its machine is, in the API, in its
cgroups and in its books, and nobody may have been ended who would have fitted (see `watch`).
"""

import asyncio
from pathlib import Path
from typing import Any, Final

from tests.engine.agent.happenings import Refuse, Wait, die, picked, refuse
from tests.engine.agent.resizing import rig
from tests.engine.agent.resizing.ends import wrong
from tests.engine.agent.resizing.happenings import (
    Away,
    Cpus,
    Create,
    Delete,
    Die,
    Flip,
    Happening,
    HugePages,
    Memory,
    NoSpace,
    Resize,
    Swap,
    Use,
)
from tests.engine.agent.resizing.watch import Watch
from tests.engine.agent.world import World, amounts, pod, world

from flexlet.adapters.sim.hardware import BLOCK
from flexlet.api.status import ApiError
from flexlet.api.units import GIB, MIB
from flexlet.testing import NodeOptions, idle

Json = dict[str, Any]
_PATIENCE_S: Final = 400.0
_SIZES: Final = {
    "guaranteed": ("1,256Mi", "2,512Mi", "1500m,1Gi", "3,1Gi"),
    "burstable": ("200m,256Mi", "500m,1Gi", "1,2Gi", "100m,3Gi"),
    "balloon": ("500m,512Mi", "1,1Gi", "2,2Gi", "500m,3Gi"),
}


class Life:
    """One of them under way."""

    def __init__(self, there: World, watch: Watch) -> None:
        self.there = there
        self.watch = watch
        self.uids: dict[str, str] = {}
        self.requests: dict[str, str] = {}
        self._count = 0
        assert there.node.options.hardware is not None
        self._host = there.node.options.hardware

    async def happen(self, what: Happening) -> None:
        match what:
            case Create():
                await self._create(what)
            case Resize():
                await self._resize(what)
            case Delete():
                await self._delete(what)
            case Use():
                self._use(what)
            case Die():
                await die(self.there.node, what.deeds)
                await asyncio.sleep(what.away_s)
                await self.there.node.start()
            case Wait():
                await asyncio.sleep(what.seconds)
            case Refuse():
                refuse(self.there.node, what)
            case NoSpace():
                self.watch.fails += [what.file] * what.times
            case Away():
                self.there.node.reach.is_away = what.is_away
            case _:
                self._plug(what)

    def _plug(self, what: Happening) -> None:
        match what:
            case Cpus():
                self._host.cpus = ",".join(map(str, sorted({0, *what.ids})))
            case Flip():
                self._host.cpus = ",".join(map(str, sorted({0, *(self._host.awake ^ what.ids)})))
            case Memory():
                self._fill(what.halves * 512 * MIB, silent=what.silent)
            case Swap():
                self._host.swapoff()
                self._host.swapon(what.gib * GIB)
            case HugePages():
                self._host.set_hugepages(2 * MIB, what.count)

    def _fill(self, size: int, *, silent: bool) -> None:
        more = size - self._host.memory
        if silent or not more or (more < 0 and len(self._host.blocks) * BLOCK < -more):
            self._host.set_memory(size)
        elif more > 0:
            self._host.plug_memory(more)
        else:
            self._host.unplug_memory(-more)

    async def _create(self, what: Create) -> None:
        name = f"p{self._count}"
        self._count += 1
        containers = {"a": _resources(what.kind, what.size)}
        if what.kind == "static":
            manifest = {"apiVersion": "v1", "kind": "Pod"} | pod(name, {"a": _resources("burstable", what.size)})
            self.there.node.manifests.write(f"/m/{name}.yaml", manifest)
            return
        spec = rig.BALLOON if what.kind == "balloon" else {"priority": what.priority}
        self.uids[name] = await self.there.create(name, containers, **spec)
        self.requests[name] = what.kind

    async def _resize(self, what: Resize) -> None:
        name = picked(self.uids, what.which)
        if name is None or self.requests[name] not in _SIZES:
            return
        body = {"spec": {"containers": [{"name": "a", "resources": _resources(self.requests[name], what.size)}]}}
        try:
            await self.there.cluster.resize(name, body)
        except ApiError:
            return

    async def _delete(self, what: Delete) -> None:
        name = picked(self.uids, what.which)
        if name is not None:
            del self.uids[name]
            await self.there.cluster.delete(name)

    def _use(self, what: Use) -> None:
        """Never so much that the machine itself would be full."""
        name = picked(self.uids, what.which)
        kernel = self.there.node.sim.kernel.machine
        for each in self.there.node.containers(self.uids[name] if name else "").values():
            limit = kernel.cgroups[each.cgroup].files["memory.max"]
            if limit != "max" and each.pid in kernel.processes:
                kernel.processes[each.pid].cache = int(limit) * what.percent // 100

    # The end

    async def settle(self) -> Json:
        """Nothing fails any more, and time passes; what is not as it should be then."""
        node = self.there.node
        node.reach.is_away = False
        node.sim.trouble.forgive()
        self.watch.fails.clear()
        await asyncio.sleep(_PATIENCE_S)
        await idle()
        found = await wrong(self.there, self.uids, self.watch.victims)
        return found | ({"broken": self.watch.broken} if self.watch.broken else {})


def _resources(kind: str, size: int) -> Json:
    if kind not in _SIZES:
        return {}
    text = _SIZES[kind][size]
    return amounts(text, "4,4Gi" if kind == "burstable" else text)


def options(config: Json) -> NodeOptions:
    return rig.machine(config=config)


async def live(life: list[Happening], config: Json, directory: Path) -> Json:
    """A whole life; what was wrong at its end, or on the way."""
    async with world(directory, options(config)) as there:
        there.let_through("Priority")
        watch = Watch(there.node)
        with watch.planning():
            lived = Life(there, watch)
            for each in life:
                await lived.happen(each)
            return await lived.settle()
