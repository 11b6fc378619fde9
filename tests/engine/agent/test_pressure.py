"""A node that runs dry: who is told, who goes, what is given back first, and how often it is measured."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from tests.core.eviction.candidates import MIB, below
from tests.engine.agent.nodes import NODE, Node, node, run

from flexlet.adapters.meters import Ledger
from flexlet.core.eviction.evictor import EvictionSettings
from flexlet.core.stats.readings import CgroupReading, FsReading, NodeReading, PodReading, SystemReading
from flexlet.core.stats.sources import NodeSource
from flexlet.engine.agent.measuring import BRIEF, FULL
from flexlet.engine.agent.pressure import Pressure
from flexlet.ports.cluster import NODES

TRANSITION_S = 60.0


class Meter:
    """A gauge whose needle a test moves; notes what it was asked for."""

    def __init__(self, at: Node) -> None:
        self._clock = at.clock
        self.memory = 1000
        self.disk = 1000
        self.working_sets: dict[str, int] = {}
        self.asked: list[tuple[str, int]] = []

    async def measure(self, source: NodeSource, depth: str = FULL) -> NodeReading:
        now = self._clock.now()
        self.asked.append((depth, len(source.pods)))
        fs = FsReading(time=now, capacity=1000, available=self.disk) if depth == FULL else None
        return NodeReading(
            name=source.name,
            time=now,
            usage=_memory(now, 1000, 1000 - self.memory),
            systems=(SystemReading(name="pods", cgroup="kubepods", usage=_memory(now, 1000, 0)),),
            fs=fs,
            image_fs=fs,
            pods=tuple(
                PodReading(
                    namespace=pod.namespace,
                    name=pod.name,
                    uid=pod.uid,
                    usage=_memory(now, 1000, self.working_sets.get(pod.name, 0)),
                    ephemeral_storage=FsReading(time=now, used=self.working_sets.get(pod.name, 0) * MIB),
                )
                for pod in source.pods
            ),
        )


def _memory(now: float, limit: int, used: int) -> CgroupReading:
    return CgroupReading(time=now, memory_usage=used * MIB, memory_limit=limit * MIB, memory={"inactive_file": 0})


class Giver:
    """Gives back what a test says."""

    def __init__(self, meter: Meter, disk: int = 0) -> None:
        self._meter = meter
        self._disk = disk
        self.asked: list[tuple[str, ...]] = []

    async def __call__(self, what: Iterable[str]) -> None:
        self.asked.append(tuple(what))
        self._meter.disk += self._disk


async def watched(at: Node, *thresholds: Any, gives: int = 0) -> tuple[Meter, Giver, Ledger]:
    """An agent that watches itself."""
    agent, meter, meters = at.make(), Meter(at), Ledger()
    giver = Giver(meter, gives)
    settings = EvictionSettings(thresholds=thresholds, transition_s=TRANSITION_S)
    agent.take_on(Pressure(settings, meter, agent.loop, agent.selfview, agent.machine, at.clock, meters, giver))
    await at.resume(agent)
    return meter, giver, meters


async def condition(at: Node, kind: str) -> str:
    raw = await at.cluster.cluster.get(NODES, "", NODE)
    conditions = msgspec.json.decode(raw)["status"]["conditions"]
    return str(next(each["status"] for each in conditions if each["type"] == kind))


def test_the_pod_that_takes_more_than_it_asked_for_goes(tmp_path: Path) -> None:
    """One pod, with reason and condition; the node says that it is under pressure, and lets nobody else in."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            meter, _, meters = await watched(at, below("memory.available", "100Mi"))
            await at.pod("greedy")
            await at.pod("modest")
            await at.passes(5)
            meter.working_sets = {"greedy": 500, "modest": 20}
            meter.memory = 50
            await at.passes(10)
            assert await condition(at, "MemoryPressure") == "True"
            greedy = (await at.cluster.pod("greedy"))["status"]
            assert (greedy["phase"], greedy["reason"]) == ("Failed", "Evicted")
            assert greedy["message"].startswith("The node was low on resource: memory. Threshold quantity: 100Mi")
            assert await at.phase("modest") == "Running"
            meter.memory = 500
            await at.pod("late")
            await at.passes(5)
            late = (await at.cluster.pod("late"))["status"]
            assert (late["phase"], late["reason"]) == ("Failed", "Evicted")
            await at.passes(TRANSITION_S + 10)
            assert await condition(at, "MemoryPressure") == "False"
            events = [each["reason"] for each in await at.cluster.events()]
            assert "Evicted" in events
            assert "EvictionThresholdMet" in events
            counted = {each.name: each.samples for each in meters.families()}["kubelet_evictions"]
            assert [(each.labels, each.value) for each in counted] == [
                ((("eviction_signal", "memory.available"),), 1)
            ]

    run(tale())


def test_a_full_disk_is_emptied_before_a_pod_goes(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            meter, giver, _ = await watched(at, below("nodefs.available", "10%"), gives=500)
            await at.pod("web")
            await at.passes(5)
            meter.disk = 50
            await at.passes(60)
            assert giver.asked == [("containers", "images")]
            assert await at.phase("web") == "Running"
            assert await condition(at, "DiskPressure") == "True"

    run(tale())


def test_if_that_is_not_enough_a_pod_goes(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            meter, giver, _ = await watched(at, below("nodefs.available", "10%"))
            await at.pod("web")
            await at.passes(5)
            meter.disk = 50
            await at.passes(60)
            assert len(giver.asked) > 1
            assert (await at.cluster.pod("web"))["status"]["reason"] == "Evicted"

    run(tale())


def test_a_pod_over_its_own_storage_limit_goes_though_the_node_has_enough(tmp_path: Path) -> None:
    async def tale() -> None:
        async with node(tmp_path) as at:
            meter, _, _ = await watched(at)
            limits = {"limits": {"ephemeral-storage": "10Mi"}}
            app = {"name": "app", "image": "busybox:1", "command": ["sleep", "9999"], "resources": limits}
            await at.pod("web", containers=[app])
            await at.pod("other")
            await at.passes(5)
            meter.working_sets = {"web": 11}
            await at.passes(60)
            status = (await at.cluster.pod("web"))["status"]
            assert (status["reason"], status["message"]) == (
                "Evicted",
                "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ",
            )
            assert await at.phase("other") == "Running"

    run(tale())


def test_a_healthy_node_is_measured_cheaply(tmp_path: Path) -> None:
    """Every ten seconds, without its pods, and its disks every third time."""

    async def tale() -> None:
        async with node(tmp_path) as at:
            meter, _, _ = await watched(at, below("memory.available", "100Mi"), below("nodefs.available", "10%"))
            await at.pod("web")
            await at.passes(65)
            assert meter.asked == [(FULL, 0), (BRIEF, 0), (BRIEF, 0), (FULL, 0), (BRIEF, 0), (BRIEF, 0), (FULL, 0)]

    run(tale())
