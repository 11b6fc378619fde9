"""Several agents on one host: 64 CPUs and 256Gi, of which 4 and 16Gi are the host's (balloon.md §10)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engine.agent.world import pod

from flexlet.api.units import GIB
from flexlet.core.agent import ballooning
from flexlet.core.balloon import names
from flexlet.core.machine.sharing import Share
from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.shares.ledger import LEASE_S
from flexlet.ports.cluster import NODES, PODS
from flexlet.testing import NodeOptions, SimClock, SimCluster, SimulatedNode, idle
from flexlet.testing.cluster import serving
from flexlet.testing.memory import MemoryLedger
from flexlet.testing.simtime import run

Json = dict[str, Any]

SYSTEM = "kube-system"
COUNT = 4
CONFIG = {
    "kubeReserved": {"cpu": "4", "memory": "16Gi"},
    "evictionHard": {"memory.available": "0%", "nodefs.available": "0%"},
}
WHOLE = {"cpu": 60_000, "memory": 240 * GIB}


class Host:
    """Agents with one machine each, which is the same."""

    def __init__(self, cluster: SimCluster, directory: Path, ledger: MemoryLedger | None) -> None:
        self.cluster = cluster
        self.ledger = ledger
        self.nodes = {
            f"n{index}": SimulatedNode(
                cluster,
                directory / f"n{index}",
                NodeOptions(
                    name=f"n{index}",
                    cpus="0-63",
                    memory=256 * GIB,
                    config=CONFIG,
                    share=Share(index, COUNT),
                    host_ledger=ledger,
                ),
            )
            for index in range(1, COUNT + 1)
        }
        self.sums: list[Amounts] = []

    async def settle(self, seconds: float = 3.0) -> None:
        """Time passes, and all the while nobody has too much."""
        step = max(0.25, seconds / 40)
        for _ in range(int(seconds / step)):
            await asyncio.sleep(step)
            await idle()
            self.sums.append(sizes.total(self.usable(name) for name in self.nodes))

    def usable(self, name: str) -> Amounts:
        """What pods may have on a node beside its balloons, however much was given back."""
        agent = self.nodes[name].agent
        assert agent is not None
        world = agent.loop.world
        if not world.setup.allocatable:
            return dict(sizes.NOTHING)
        offered = sizes.of(ballooning.offered(world))
        return sizes.less(offered, sizes.less(sizes.of(world.setup.allocatable), ballooning.effective(world)))

    async def balloon(self, node: str, cpu: int, gib: int = 180) -> None:
        requests = {"cpu": str(cpu), "memory": f"{gib}Gi"}
        body = pod(f"balloon-{node}", {"balloon": {"resources": {"requests": requests}}})
        body["metadata"] |= {"labels": {names.LABEL: "true"}}
        body["spec"] |= {"nodeName": node}
        await self.cluster.create(PODS, body, SYSTEM)
        await self.settle()

    async def resize(self, node: str, cpu: int, gib: int = 180) -> None:
        container = {"name": "balloon", "resources": {"requests": {"cpu": str(cpu), "memory": f"{gib}Gi"}}}
        await self.cluster.resize(f"balloon-{node}", {"spec": {"containers": [container]}}, SYSTEM)
        await self.settle()

    async def pod(self, name: str, node: str, cpu: int) -> str:
        """A pod that somebody bound; what became of it."""
        body = pod(name, {"c": {"resources": {"requests": {"cpu": str(cpu)}}}})
        body["spec"]["nodeName"] = node
        await self.cluster.create(PODS, body)
        await self.settle()
        return await self.phase(name)

    async def phase(self, name: str) -> str:
        status = (await self.cluster.pod(name))["status"]
        return str(status.get("reason") or status["phase"])

    async def allocatable(self, node: str) -> Json:
        found = await self.cluster.cluster.get(NODES, "", node)
        return dict(msgspec.json.decode(found)["status"]["allocatable"])

    def cpus(self) -> dict[str, int]:
        return {name: self.usable(name)["cpu"] // 1000 for name in self.nodes}

    def check(self) -> None:
        assert all(total[name] <= WHOLE[name] for total in self.sums for name in WHOLE)


@contextlib.asynccontextmanager
async def host(directory: Path, ledger: MemoryLedger | None) -> AsyncIterator[Host]:
    async with serving(SimClock()) as cluster, contextlib.AsyncExitStack() as stack:
        made = Host(cluster, directory, ledger)
        for node in made.nodes.values():
            await stack.enter_async_context(node.running())
        await made.settle()
        yield made
        made.check()


def test_fixed_shares_are_advertised_and_held(tmp_path: Path) -> None:
    """15 CPUs and 60Gi each, of a reserve that counts once; kubepods is held to it."""

    async def story() -> None:
        async with host(tmp_path, None) as at:
            for name, node in at.nodes.items():
                found = await at.allocatable(name)
                assert (found["cpu"], found["memory"]) == ("15", "60Gi")
                assert node.cgroup("kubepods")["memory.max"] == str(60 * GIB)
            assert await at.pod("fits", "n1", 15) == "Running"
            assert await at.pod("more", "n2", 16) == "OutOfcpu"

    run(story())


def test_19_size_moves_when_the_giver_has_given(tmp_path: Path) -> None:
    """Everybody offers 60 CPUs behind a balloon of 45; 5 move from the first to the second."""

    async def story() -> None:
        async with host(tmp_path, MemoryLedger()) as at:
            assert at.cpus() == {"n1": 15, "n2": 15, "n3": 15, "n4": 15}
            for name in at.nodes:
                await at.balloon(name, 45)
            assert at.cpus() == {"n1": 15, "n2": 15, "n3": 15, "n4": 15}
            assert (await at.allocatable("n2"))["cpu"] == "60"
            await at.resize("n1", 50)
            await at.resize("n2", 40)
            await at.settle(6)
            assert at.cpus() == {"n1": 10, "n2": 20, "n3": 15, "n4": 15}
            assert await at.pod("large", "n2", 20) == "Running"
            assert await at.pod("late", "n1", 11) == "OutOfcpu"

    run(story())


def test_in_the_wrong_order_nobody_gets_anything_too_early(tmp_path: Path) -> None:
    """The deflate is granted, as all are; its size comes when another agent has given it."""

    async def story() -> None:
        async with host(tmp_path, MemoryLedger()) as at:
            for name in at.nodes:
                await at.balloon(name, 45)
            await at.resize("n2", 40)
            balloon = await at.cluster.pod("balloon-n2", SYSTEM)
            assert balloon["status"]["containerStatuses"][0]["allocatedResources"]["cpu"] == "40"
            assert at.cpus()["n2"] == 15
            assert await at.pod("early", "n2", 16) == "OutOfcpu"
            await at.resize("n1", 50)
            await at.settle(6)
            assert at.cpus() == {"n1": 10, "n2": 20, "n3": 15, "n4": 15}
            assert await at.pod("large", "n2", 16) == "Running"

    run(story())


def test_a_dead_agent_keeps_its_share_until_its_lease_ends(tmp_path: Path) -> None:
    async def story() -> None:
        async with host(tmp_path, MemoryLedger()) as at:
            for name in at.nodes:
                await at.balloon(name, 45)
            await at.nodes["n1"].kill()
            at.nodes.pop("n1")
            await at.resize("n2", 30)
            await at.settle(30)
            assert at.cpus() == {"n2": 15, "n3": 15, "n4": 15}
            await at.settle(LEASE_S)
            assert at.cpus() == {"n2": 30, "n3": 15, "n4": 15}

    run(story())


def test_an_agent_that_restarts_has_its_share_again(tmp_path: Path) -> None:
    async def story() -> None:
        async with host(tmp_path, MemoryLedger()) as at:
            for name in at.nodes:
                await at.balloon(name, 45)
            await at.resize("n1", 50)
            await at.resize("n2", 40)
            await at.settle(6)
            await at.nodes["n2"].restart()
            await at.settle(10)
            assert at.cpus() == {"n1": 10, "n2": 20, "n3": 15, "n4": 15}

    run(story())


def test_who_cannot_reach_the_ledger_lets_nobody_in_when_the_lease_has_ended(tmp_path: Path) -> None:
    async def story() -> None:
        ledger = MemoryLedger()
        async with host(tmp_path, ledger) as at:
            for name in at.nodes:
                await at.balloon(name, 45)
            ledger.broken = "the disk is gone"
            assert await at.pod("still", "n1", 5) == "Running"
            await at.settle(LEASE_S + 70)
            assert await at.pod("late", "n1", 1) == "OutOfcpu"
            assert await at.phase("still") == "Running"
            ledger.broken = ""
            await at.settle(10)
            assert await at.pod("again", "n1", 10) == "Running"

    run(story())


@pytest.mark.parametrize("pending", [True, False])
def test_a_waiting_resize_is_granted_when_the_share_grows(tmp_path: Path, pending: bool) -> None:
    """An ordinary pod beside the balloon wants more than the share has."""

    async def story() -> None:
        async with host(tmp_path, MemoryLedger()) as at:
            for name in at.nodes:
                await at.balloon(name, 45)
            assert await at.pod("web", "n2", 10) == "Running"
            if pending:
                await at.resize("n2", 40)
            else:
                await at.resize("n1", 50)
            container = {"name": "c", "resources": {"requests": {"cpu": "18"}}}
            await at.cluster.resize("web", {"spec": {"containers": [container]}})
            await at.settle()
            held = (await at.cluster.pod("web"))["status"]["containerStatuses"][0]["allocatedResources"]
            assert held["cpu"] == "10"
            await (at.resize("n1", 50) if pending else at.resize("n2", 40))
            await at.settle(10)
            held = (await at.cluster.pod("web"))["status"]["containerStatuses"][0]["allocatedResources"]
            assert held["cpu"] == "18"

    run(story())
