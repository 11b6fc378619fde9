"""Random lives of a small cluster: pods come, change their size and go while the agent dies and the node changes.

A life is a list of things that happen, drawn beforehand, so that one that goes wrong can be told again and made
shorter. In the end the node is large enough for everybody, and time passes: then every pod must have what it
asked for last, and nothing may be left of those that went.
"""

import asyncio
from pathlib import Path
from typing import Any, Final

import msgspec
from hypothesis import strategies as st
from tests.engine.agent.happenings import Crash, Refuse, Wait, die, picked, refuse, refusing, waiting
from tests.engine.agent.world import World, is_gone, is_resized, world
from tests.scenarios.agent_resize.e2e import promises
from tests.scenarios.agent_resize.e2e.bench import Seen, patch
from tests.scenarios.agent_resize.e2e.cases import Case, Sizes

from flexlet.adapters.sim import losing
from flexlet.adapters.sim.trouble import DEEDS, Call
from flexlet.api.status import ApiError
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.runtime.shown import EXITED, RUNNING, UNKNOWN
from flexlet.testing import NodeOptions
from flexlet.testing.host import GIB

Json = dict[str, Any]

NODE: Final = NodeOptions(cpus="0-1", memory=4 * GIB, resize=ResizeSettings(plug=True))
_PATIENCE_S: Final = 400.0
_CPU: Final = ("100m", "300m", "700m", "1500m")
_MEMORY: Final = ("64Mi", "256Mi", "1Gi")
_LEVELS: Final = ("1500m,1Gi / 2,2Gi", "1600m,1Gi / 3,1536Mi")
"""Of pods; any two containers fit into either."""


class Create(msgspec.Struct, frozen=True, tag=True):
    """A pod is posted."""

    sizes: Sizes
    policy: tuple[str, ...]


class Resize(msgspec.Struct, frozen=True, tag=True):
    """One of them asks for another size, container by container; `shift` moves every amount."""

    which: int
    shift: int


class Delete(msgspec.Struct, frozen=True, tag=True):
    """One of them is deleted, maybe without grace."""

    which: int
    at_once: bool


class Die(msgspec.Struct, frozen=True, tag=True):
    """The agent dies after so many more deeds, or now, and another one comes."""

    deeds: int


class Resized(msgspec.Struct, frozen=True, tag=True):
    """The node has another number of CPUs."""

    cpus: int


class Away(msgspec.Struct, frozen=True, tag=True):
    """The runtime does not answer for a while; containers run on."""

    seconds: float


class Lose(msgspec.Struct, frozen=True, tag=True):
    """The runtime is started again, and loses something of a pod that runs on, or finds everything again."""

    which: int
    what: str


Happening = Create | Resize | Delete | Crash | Die | Resized | Refuse | Away | Lose | Wait
LOSSES: Final = ("sandbox", EXITED, UNKNOWN, "")
METHODS: Final = (
    "run_sandbox",
    "create_container",
    "start_container",
    "update_container",
    "stop_container",
    "write",
)

_whiches = st.integers(0, 7)


@st.composite
def _sizes(draw: st.DrawFn) -> Sizes:
    """Guaranteed or Burstable; containers with limits, and maybe the pod itself."""
    names = ("c", "d")[: draw(st.integers(1, 2))]
    found = {name: _burstable(draw(st.integers(0, 2)), draw(st.integers(0, 1))) for name in names}
    return {"level": _LEVELS[0], **found} if draw(st.booleans()) else found


def _burstable(cpu: int, memory: int) -> str:
    more = min(cpu + 1, len(_CPU) - 1), min(memory + 1, len(_MEMORY) - 1)
    return f"{_CPU[cpu]},{_MEMORY[memory]} / {_CPU[more[0]]},{_MEMORY[more[1]]}"


happenings: Final[st.SearchStrategy[Happening]] = st.one_of(
    st.builds(Create, _sizes(), st.sampled_from(((), ("memory",), ("cpu", "memory")))),
    st.builds(Resize, _whiches, st.integers(0, 3)),
    st.builds(Resize, _whiches, st.integers(0, 3)),
    st.builds(Delete, _whiches, st.booleans()),
    st.builds(Crash, _whiches),
    st.builds(Die, st.integers(0, 12)),
    st.builds(Resized, st.integers(1, 4)),
    refusing(METHODS, 3),
    st.builds(Away, st.sampled_from((1.0, 30.0))),
    st.builds(Lose, _whiches, st.sampled_from(LOSSES)),
    waiting(0.0, 0.5, 3.0, 15.0, 60.0),
)


class Life:
    """One of them under way; what was asked for last is kept by pod."""

    def __init__(self, there: World) -> None:
        self.there = there
        self.wanted: dict[str, Sizes] = {}
        self.uids: dict[str, str] = {}
        self._count = 0

    async def happen(self, what: Happening) -> None:
        match what:
            case Create():
                await self._create(what)
            case Resize():
                await self._resize(what)
            case Delete():
                await self._delete(what)
            case Crash():
                self._crash(what)
            case Die():
                await die(self.there.node, what.deeds)
                await self.there.node.start()
            case Resized():
                self._size(what.cpus)
            case Refuse():
                refuse(self.there.node, what)
            case Away():
                await self._go_away(what.seconds)
            case Lose():
                self._lose(what)
                await self._go_away(1.0)
            case Wait():
                await asyncio.sleep(what.seconds)

    async def _create(self, what: Create) -> None:
        name = f"p{self._count}"
        self._count += 1
        case = Case(name=name, before=what.sizes, after={}, policy=what.policy)
        self.uids[name] = await self.there.create(name, **case.pod())
        self.wanted[name] = what.sizes

    async def _resize(self, what: Resize) -> None:
        name = picked(self.wanted, what.which)
        if name is None:
            return
        wish = {
            part: _burstable((what.shift + at) % 3, what.shift % 2) for at, part in enumerate(self.wanted[name])
        }
        wish |= {"level": _LEVELS[what.shift % 2]} if "level" in wish else {}
        try:
            await self.there.cluster.resize(name, patch(wish))
        except ApiError:
            return
        self.wanted[name] = self.wanted[name] | wish

    async def _delete(self, what: Delete) -> None:
        name = picked(self.wanted, what.which)
        if name is not None:
            del self.wanted[name]
            await self.there.cluster.delete(name, grace_s=0 if what.at_once else None)

    def _crash(self, what: Crash) -> None:
        name = picked(self.wanted, what.which)
        kernel = self.there.node.sim.kernel
        running = self.there.node.containers(self.uids[name]) if name is not None else {}
        for each in list(running.values())[:1]:
            kernel.end(kernel.machine.processes[each.pid], 1)

    async def _go_away(self, seconds: float) -> None:
        runtime = self.there.node.sim.runtime
        runtime.is_away = True
        self.there.node.sim.kernel.notify()
        await asyncio.sleep(seconds)
        runtime.is_away = False

    def _lose(self, what: Lose) -> None:
        name, containerd = picked(self.wanted, what.which), self.there.node.sim.containerd
        if not what.what:
            losing.find_again(containerd)
        elif name is not None and what.what == "sandbox":
            losing.lose_sandboxes(containerd, self.uids[name])
        elif name is not None:
            losing.lose_containers(containerd, self.uids[name], what.what)

    def _size(self, cpus: int) -> None:
        self.there.node.host.cpus = "0" if cpus == 1 else f"0-{cpus - 1}"

    # The end

    async def settle(self) -> dict[str, Any]:
        """Room for everybody, and time; what is not as it should be then."""
        self._size(64)
        self.there.node.sim.trouble.forgive()
        await asyncio.sleep(_PATIENCE_S)
        wrong: dict[str, Any] = {}
        for name, sizes in self.wanted.items():
            pod = await self.there.get(name)
            if pod is not None and pod["status"].get("reason", "").startswith("OutOf"):
                continue
            if pod is None or not is_resized(pod):
                wrong[name] = pod and pod["status"]
                continue
            seen = Seen(sizes=sizes, status=pod["status"], cgroups=self.there.node.pod_cgroups(self.uids[name]))
            if promises.kept(seen) != promises.promised(seen):
                wrong[name] = (promises.kept(seen), promises.promised(seen))
        return wrong | await self._leftovers()

    async def _leftovers(self) -> dict[str, Any]:
        """What is left of pods that went, and containers that are there twice."""
        containerd = self.there.node.sim.containerd
        alive = {uid for name, uid in self.uids.items() if name in self.wanted}
        wrong: dict[str, Any] = {
            f"left: {name}": uid
            for name, uid in self.uids.items()
            if uid not in alive and (not is_gone(await self.there.get(name)) or self.there.node.pod_path(uid))
        }
        running = [
            (each.sandbox.config.uid, each.config.name)
            for each in containerd.containers.values()
            if each.state == RUNNING or each.pid in containerd.kernel.machine.processes
        ]
        wrong |= {f"twice: {each}": each for each in running if running.count(each) > 1}
        known = {each.sandbox.config.uid for each in containerd.containers.values()}
        known |= {each.config.uid for each in containerd.sandboxes.values()}
        return wrong | {f"stranger: {uid}": uid for uid in known - alive}


async def live(happenings: list[Happening], directory: Path) -> dict[str, Any]:
    """A whole life; what was wrong at its end, and what went on although nothing was left to do."""
    async with world(directory, NODE) as there:
        life = Life(there)
        for each in happenings:
            await life.happen(each)
        wrong = await life.settle()
        calls, writes = len(there.node.sim.trouble.calls), there.pod_writes
        await asyncio.sleep(120)
        deeds = [each for each in there.node.sim.trouble.calls[calls:] if _is_for_a_pod(each)]
        busy = (deeds, there.pod_writes - writes)
        return wrong | ({"restless": busy} if busy != ([], 0) else {})


def _is_for_a_pod(call: Call) -> bool:
    """Not the upkeep of the cgroups above the pods, nor a look."""
    return call.method in DEEDS and (call.method not in {"create", "write"} or "/pod" in call.arguments[0])
