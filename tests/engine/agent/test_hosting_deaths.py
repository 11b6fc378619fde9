"""Two agents on one host, size on its way from one to the other, and one dies at a bad moment (balloon.md §10).

The bad moments are those around the ledger: just before it is written, when an agent has already changed its mind,
and just after, when it never learns what it was granted. What pods may have on both together is looked at after
every change of either agent's world, and what the ledger grants after every write.
"""

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from tests.engine.agent.test_hosting import CONFIG, WHOLE, Host

from flexlet.api.units import GIB
from flexlet.core.agent import ballooning
from flexlet.core.agent.world import World, active
from flexlet.core.balloon.identity import is_balloon
from flexlet.core.machine.sharing import Share
from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.resize import neighbours
from flexlet.testing import NodeOptions, SimClock, SimCluster, SimulatedNode
from flexlet.testing.cluster import serving
from flexlet.testing.memory import MemoryLedger
from flexlet.testing.simtime import run

Moment = Literal["before", "after"]
HALF = {"n1": 30, "n2": 30}
MOVED = {"n1": 20, "n2": 40}
DOWN_S = 20.0
LATENCY_S = 0.02
"""A ledger is on disk: while it is written, everybody else goes on."""


class Mortal:
    """The ledger as one agent reaches it, which may die there."""

    def __init__(self, host: "Pair", name: str) -> None:
        self.dies: tuple[Moment, int] | None = None
        self._host = host
        self._name = name

    async def change(self, how: Callable[[bytes | None], bytes]) -> None:
        """Replace it, unless death comes first."""
        self._host.watch(self._name)
        if self._is_over("before"):
            await self._die()
        await asyncio.sleep(LATENCY_S)
        await self._host.book.change(how)
        self._host.check_book()
        await asyncio.sleep(LATENCY_S)
        if self._is_over("after"):
            await self._die()

    def _is_over(self, moment: Moment) -> bool:
        if self.dies is None or self.dies[0] != moment:
            return False
        self.dies = moment, self.dies[1] - 1
        return self.dies[1] == 0

    async def _die(self) -> None:
        self._host.nodes[self._name].line.cut()
        await asyncio.get_running_loop().create_future()


class Pair(Host):
    """A host with two agents; all that can be seen of their sizes is seen."""

    def __init__(self, cluster: SimCluster, directory: Path) -> None:
        super().__init__(cluster, directory, None)
        self.book = MemoryLedger()
        self.ends = {name: Mortal(self, name) for name in HALF}
        self.nodes = {
            name: SimulatedNode(cluster, directory / name, self._options(name, index))
            for index, name in enumerate(self.ends, start=1)
        }
        self._watched: set[int] = set()
        self.looks = 0

    def _options(self, name: str, index: int) -> NodeOptions:
        share, end = Share(index, len(HALF)), self.ends[name]
        return NodeOptions(name=name, cpus="0-63", memory=256 * GIB, config=CONFIG, share=share, host_ledger=end)

    def watch(self, name: str) -> None:
        """Look after each change of an agent's world."""
        agent = self.nodes[name].agent
        assert agent is not None
        if id(agent) not in self._watched:
            self._watched.add(id(agent))
            agent.loop.watchers.append(self._look)

    def usable(self, name: str) -> Amounts:
        """What a node would let in now if it had no other pods: what it offers less what its balloons hold."""
        agent = self.nodes[name].agent
        assert agent is not None
        world = agent.loop.world
        if not world.setup.allocatable:
            return dict(sizes.NOTHING)
        here = (each for each in active(world).values() if is_balloon(each.pod))
        held = neighbours.used(ballooning._neighbour(each, world) for each in here)
        return sizes.less(sizes.of(ballooning.offered(world)), {r: held.get(r, 0) for r in sizes.RESOURCES})

    def _look(self, before: World, after: World) -> None:
        del before, after
        self.looks += 1
        if all(node.agent is not None for node in self.nodes.values()):
            self.sums.append(sizes.total(self.usable(name) for name in self.nodes))

    def check_book(self) -> None:
        """What the ledger grants together."""
        shares = msgspec.json.decode(self.book.content or b"{}").values()
        self.sums.append(sizes.total(share["effective"] for share in shares))

    async def again(self, name: str) -> None:
        """The dead agent's successor."""
        self.ends[name].dies = None
        await self.nodes[name].kill()
        await self.settle(DOWN_S)
        await self.nodes[name].start()
        await self.settle(DOWN_S)


CASES = list(itertools.product(("n1", "n2"), ("before", "after"), (1, 2), (("n1", "n2"), ("n2", "n1"))))


@pytest.mark.slow
@pytest.mark.parametrize(("victim", "moment", "count", "order"), CASES)
def test_whoever_dies_size_is_never_there_twice_and_arrives(
    tmp_path: Path, victim: str, moment: Moment, count: int, order: tuple[str, str]
) -> None:
    """The giver's balloon grows by 10 CPUs and the taker's shrinks, in either order."""

    async def story() -> None:
        async with serving(SimClock()) as cluster:
            at = Pair(cluster, tmp_path)
            async with at.nodes["n1"].running(), at.nodes["n2"].running():
                await at.settle()
                for name in at.nodes:
                    await at.balloon(name, 30, 120)
                assert at.cpus() == HALF
                at.ends[victim].dies = moment, count
                for name in order:
                    await at.resize(name, 60 - MOVED[name], 120)
                await at.settle(10)
                await at.again(victim)
                assert at.cpus() == MOVED
                assert at.looks > 0
                at.check()
                assert max(total["cpu"] for total in at.sums) == WHOLE["cpu"]

    run(story())
