"""Random lives of a node whose machine changes under its pods, while everything goes wrong that can.

A life is a list of things that happen, drawn beforehand, so that one that goes wrong can be told again and made
shorter. In the end nothing fails any more and time passes: then the node must be what its machine is, in the API,
in its cgroups and in its books, and nobody may have been ended who would have fitted (see `watch`).
"""

import asyncio
from pathlib import Path
from typing import Any, Final

import msgspec
from hypothesis import strategies as st
from tests.engine.agent.resizing import rig
from tests.engine.agent.resizing.ends import wrong
from tests.engine.agent.resizing.watch import Watch
from tests.engine.agent.world import World, amounts, pod, world

from flexlet.adapters.sim import refusals
from flexlet.adapters.sim.hardware import BLOCK
from flexlet.api.status import ApiError
from flexlet.api.units import GIB, MIB
from flexlet.core.hotplug import saved
from flexlet.core.managers.files import CPU_FILE
from flexlet.engine.agent.ledger import ALLOCATED
from flexlet.errors import HostError
from flexlet.testing import NodeOptions, idle

Json = dict[str, Any]

_PATIENCE_S: Final = 400.0
_SIZES: Final = {
    "guaranteed": ("1,256Mi", "2,512Mi", "1500m,1Gi", "3,1Gi"),
    "burstable": ("200m,256Mi", "500m,1Gi", "1,2Gi", "100m,3Gi"),
    "balloon": ("500m,512Mi", "1,1Gi", "2,2Gi", "500m,3Gi"),
}
_METHODS: Final = ("write", "write", "update_container", "start_container", "stop_container")
_FILES: Final = (saved.FILE, CPU_FILE, ALLOCATED)


class Create(msgspec.Struct, frozen=True, tag=True):
    """A pod is posted."""

    kind: str
    size: int
    priority: int


class Resize(msgspec.Struct, frozen=True, tag=True):
    """One of them asks for another size."""

    which: int
    size: int


class Delete(msgspec.Struct, frozen=True, tag=True):
    """One of them is deleted."""

    which: int


class Use(msgspec.Struct, frozen=True, tag=True):
    """One of them uses this part of what it requested."""

    which: int
    percent: int


class Cpus(msgspec.Struct, frozen=True, tag=True):
    """These CPUs are there, and CPU 0."""

    ids: frozenset[int]


class Flip(msgspec.Struct, frozen=True, tag=True):
    """These CPUs come if they are not there, and go if they are."""

    ids: frozenset[int]


class Memory(msgspec.Struct, frozen=True, tag=True):
    """There are so many blocks of half a gibibyte; `silent` as a balloon of the hypervisor does it."""

    halves: int
    silent: bool


class Swap(msgspec.Struct, frozen=True, tag=True):
    """There is so much swap."""

    gib: int


class HugePages(msgspec.Struct, frozen=True, tag=True):
    """There are so many pages of 2Mi."""

    count: int


class Die(msgspec.Struct, frozen=True, tag=True):
    """The agent dies after so many more deeds, or now; the next one comes a while later."""

    deeds: int
    away_s: float


class Refuse(msgspec.Struct, frozen=True, tag=True):
    """One of the next calls of this method fails, before or after it was carried out."""

    method: str
    nth: int
    lost_answer: bool


class NoSpace(msgspec.Struct, frozen=True, tag=True):
    """A file cannot be written, so many times."""

    file: str
    times: int


class Away(msgspec.Struct, frozen=True, tag=True):
    """The API is out of reach, or back."""

    is_away: bool


class Wait(msgspec.Struct, frozen=True, tag=True):
    """Nothing happens."""

    seconds: float


Happening = (
    Create | Resize | Delete | Use | Cpus | Flip | Memory | Swap | HugePages | Die | Refuse | NoSpace | Away | Wait
)

_whiches: Final = st.integers(0, 9)
_plugs: Final[tuple[st.SearchStrategy[Happening], ...]] = (
    st.builds(Cpus, st.frozensets(st.integers(1, 9), min_size=1, max_size=9)),
    st.builds(Flip, st.frozensets(st.integers(1, 9), min_size=1, max_size=3)),
    st.builds(Flip, st.frozensets(st.integers(1, 9), min_size=1, max_size=3)),
    st.builds(Memory, st.integers(3, 24), st.booleans()),
)
_kinds: Final = st.sampled_from(
    ("guaranteed", "guaranteed", "burstable", "burstable", "nothing", "balloon", "static")
)
_creates: Final = st.builds(Create, _kinds, st.integers(0, 3), st.sampled_from((0, 0, 5, 2_000_000_000)))
happenings: Final[st.SearchStrategy[Happening]] = st.one_of(
    _creates,
    _creates,
    st.builds(Resize, _whiches, st.integers(0, 3)),
    st.builds(Delete, _whiches),
    st.builds(Use, _whiches, st.integers(0, 90)),
    *_plugs,
    *_plugs,
    st.builds(Swap, st.integers(0, 8)),
    st.builds(HugePages, st.sampled_from((0, 0, 64, 512))),
    st.builds(Die, st.integers(0, 14), st.sampled_from((0.0, 1.0, 30.0))),
    st.builds(Refuse, st.sampled_from(_METHODS), st.integers(1, 4), st.booleans()),
    st.builds(NoSpace, st.sampled_from(_FILES), st.integers(1, 3)),
    st.builds(Away, st.booleans()),
    st.builds(Wait, st.sampled_from((0.0, 0.05, 0.3, 1.0, 4.0, 20.0, 70.0))),
)


@st.composite
def life_of(draw: st.DrawFn, most: int) -> list[Happening]:
    """First some pods come, then anything happens."""
    creates = draw(st.lists(_creates, min_size=2, max_size=8))
    return [*creates, Wait(2.0), *draw(st.lists(happenings, min_size=4, max_size=most))]


configs: Final = st.sampled_from((rig.CONFIG, rig.STATIC))


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
                await self._die(what)
            case Wait():
                await asyncio.sleep(what.seconds)
            case Refuse():
                text = f"{what.method} does not want to"
                fault = HostError(text) if what.method == "write" else refusals.fault(text)
                self.there.node.sim.trouble.fail(what.method, fault, nth=what.nth, lost_answer=what.lost_answer)
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

    def _name(self, which: int) -> str | None:
        return list(self.uids)[which % len(self.uids)] if self.uids else None

    async def _resize(self, what: Resize) -> None:
        name = self._name(what.which)
        if name is None or self.requests[name] not in _SIZES:
            return
        body = {"spec": {"containers": [{"name": "a", "resources": _resources(self.requests[name], what.size)}]}}
        try:
            await self.there.cluster.resize(name, body)
        except ApiError:
            return

    async def _delete(self, what: Delete) -> None:
        name = self._name(what.which)
        if name is not None:
            del self.uids[name]
            await self.there.cluster.delete(name)

    def _use(self, what: Use) -> None:
        """Never so much that the machine itself would be full."""
        name = self._name(what.which)
        kernel = self.there.node.sim.kernel.machine
        for each in self.there.node.containers(self.uids[name] if name else "").values():
            limit = kernel.cgroups[each.cgroup].files["memory.max"]
            if limit != "max" and each.pid in kernel.processes:
                kernel.processes[each.pid].cache = int(limit) * what.percent // 100

    async def _die(self, what: Die) -> None:
        node = self.there.node
        if what.deeds:
            node.line.dies_after = what.deeds
            died = asyncio.ensure_future(node.line.died.wait())
            await asyncio.wait({died}, timeout=20.0)
            died.cancel()
        await node.kill()
        await asyncio.sleep(what.away_s)
        await node.start()

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
