"""Random lives of a node whose CPUs are managed: whatever happens, in the end everybody runs where the books say.

Pods with CPUs of their own and pods without come and go, containers crash, the runtime refuses, the agent dies at
any of its deeds, and the machine is another one when the next agent starts.
"""

import asyncio
import tempfile
from pathlib import Path
from typing import Any, Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.agent.happenings import Crash, Refuse, Wait, die, picked, refuse, refusing, waiting
from tests.engine.agent.managed import STATIC, cpus
from tests.engine.agent.world import World, amounts, is_ready, world

from flexlet.adapters.sim.processes import KILL
from flexlet.api.cpuset import CpuSet
from flexlet.api.units import GIB
from flexlet.core.managers.files import texts
from flexlet.testing import NodeOptions, idle, run

Json = dict[str, Any]

NODE: Final = NodeOptions(cpus="0-7", memory=8 * GIB, config=STATIC)
_PEACE_S: Final = 60.0


class Create(msgspec.Struct, frozen=True, tag=True):
    """A pod is posted; 0 CPUs are shared ones."""

    cpus: int


class Delete(msgspec.Struct, frozen=True, tag=True):
    """One of them is deleted."""

    which: int


class Die(msgspec.Struct, frozen=True, tag=True):
    """The agent dies after so many more deeds, or now; the next one finds so many CPUs."""

    deeds: int
    cpus: int


Happening = Create | Delete | Crash | Die | Refuse | Wait

_whiches: Final = st.integers(0, 7)
happenings: Final[st.SearchStrategy[Happening]] = st.one_of(
    st.builds(Create, st.integers(0, 3)),
    st.builds(Create, st.integers(0, 3)),
    st.builds(Delete, _whiches),
    st.builds(Crash, _whiches),
    st.builds(Die, st.integers(0, 10), st.sampled_from((4, 6, 8))),
    refusing(("update_container", "start_container"), 3),
    waiting(0.0, 0.5, 3.0, 15.0),
)


class Life:
    """One of them under way."""

    def __init__(self, there: World) -> None:
        self.there = there
        self.uids: dict[str, str] = {}
        self._count = 0

    async def happen(self, what: Happening) -> None:
        match what:
            case Create(cpus=number):
                await self._create(number)
            case Delete(which=which):
                await self._delete(which)
            case Crash(which=which):
                self._crash(which)
            case Die():
                await self._die(what)
            case Refuse():
                refuse(self.there.node, what)
            case Wait(seconds=seconds):
                await asyncio.sleep(seconds)

    async def _create(self, number: int) -> None:
        name = f"p{self._count}"
        self._count += 1
        sizes = amounts(f"{number},64Mi", f"{number},64Mi") if number else amounts("100m,32Mi", "200m,64Mi")
        self.uids[name] = await self.there.create(name, {"a": sizes})

    async def _delete(self, which: int) -> None:
        name = picked(self.uids, which)
        if name is not None:
            del self.uids[name]
            await self.there.cluster.delete(name)

    def _crash(self, which: int) -> None:
        kernel = self.there.node.sim.kernel
        for each in self.there.node.containers(self.uids.get(picked(self.uids, which) or "", "")).values():
            kernel.signal(each.pid, KILL)

    async def _die(self, what: Die) -> None:
        node = self.there.node
        await die(node, what.deeds)
        node.host.cpus = node.sim.kernel.machine.cpus = f"0-{what.cpus - 1}"
        await asyncio.sleep(1)
        await node.start()
        await asyncio.sleep(1)


async def live(life: list[Happening], directory: Path) -> Json:
    """What is wrong in the end."""
    async with world(directory, NODE) as there:
        lived = Life(there)
        for each in life:
            await lived.happen(each)
        there.node.sim.trouble.forgive()
        await asyncio.sleep(_PEACE_S)
        await idle()
        return {name: found for name, found in (await _looked(there, lived)).items() if found}


async def _looked(there: World, lived: Life) -> Json:
    agent = there.node.agent
    assert agent is not None
    books, online = agent.loop.world.managers.cpu, CpuSet.parse(there.node.host.cpus)
    own = {uid: entry["a"] for uid, entry in books.entries.items()}
    ids = [cpu for cpus_of in (books.shared, *own.values()) for cpu in cpus_of]
    found: Json = {"twice or missing": sorted(ids) != list(online), "strangers": own.keys() - lived.uids.values()}
    found["file"] = {
        name: text
        for name, text in texts(agent.loop.world.managers).by_name().items()
        if there.node.checkpoints.files.get(name) != text.encode()
    }
    for name, uid in lived.uids.items():
        pod = await there.get(name)
        if pod is not None and pod["status"]["phase"] == "Failed":
            continue
        wanted = str(own.get(uid, books.shared))
        has = cpus(there, uid).get("a", ("", ""))[0]
        found[name] = (
            "" if is_ready(pod) and has == wanted else f"has {has}, wants {wanted}, ready {is_ready(pod)}"
        )
    return found


def ends_well(life: list[Happening]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        assert run(live(life, Path(directory))) == {}


@settings(max_examples=10, deadline=None)
@given(st.lists(happenings, min_size=6, max_size=16))
def test_any_managed_life_ends_well(life: list[Happening]) -> None:
    ends_well(life)
