"""The controller with flexlet's own agent as the node: the same wishes, the real answers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engine.agent.world import world as node_world
from tests.scenarios.nodesize.world import World

from flexlet.adapters.sim.hypervisor import SimHypervisor
from flexlet.apiserver.housekeeping.crds import Definitions
from flexlet.apps import nodesize
from flexlet.core.hollow.machine import Machine
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.lab.spec import MachineSpec
from flexlet.core.nodesize import manifest, names
from flexlet.core.nodesize.settings import Settings
from flexlet.engine.nodesize.hypervised import HypervisedEnd
from flexlet.engine.nodesize.keeper import MachineKeeper
from flexlet.ports import cluster as ports
from flexlet.ports.machineend import MachineEnd
from flexlet.testing import NodeOptions, SimHost
from flexlet.testing.host import GIB
from flexlet.testing.simtime import run

Json = dict[str, Any]
NODE = "node-a"
OPTIONS = NodeOptions(
    name=NODE,
    cpus="0-14",
    memory=60 * GIB,
    config={"evictionHard": {"memory.available": "0%", "nodefs.available": "0%"}},
)


async def stage(sim: Any) -> World:
    """The controller beside a node that is not ours to put to sleep."""
    definitions = Definitions(sim.rest, sim.cluster, sim.clock)
    await definitions.load()
    await nodesize.install(sim.cluster)
    made = World(sim, (NODE,), Machine(), Settings())
    made.start_controller()
    return made


def spec(cpu: str, memory: str, policy: str = "Fail") -> Json:
    return {"target": {"balloon": {"cpu": cpu, "memory": memory}}, "onInsufficient": policy}


@pytest.mark.parametrize("policy", ["Fail", "Partial"])
def test_inflates_deflates_and_refusals(tmp_path: Path, policy: str) -> None:
    async def story() -> None:
        async with node_world(tmp_path, OPTIONS) as around:
            made = await stage(around.cluster)
            await made.add("a", 5, 40, NODE)
            await made.settle(5)
            await made.apply(spec("3", "12Gi"), NODE)
            await made.settle(10)
            assert (await made.figures(NODE))["balloon"] == (3, 12)
            await made.apply(spec("7", "28Gi", policy), NODE)
            await made.settle(10)
            wanted = {"Fail": (7, 12), "Partial": (7, 19.5)}
            assert (await made.figures(NODE))["balloon"] == wanted[policy]
            await made.apply(spec("1", "4Gi"), NODE)
            await made.settle(10)
            assert (await made.figures(NODE))["balloon"] == (1, 4)
            await made.remove(manifest.name_of(NODE), names.NAMESPACE)
            await made.settle(5)
            assert (await made.figures(NODE))["balloon"] == (1, 4)
            phases = {p["metadata"]["name"]: p["status"]["phase"] for p in await made.pods()}
            assert phases == {"a": "Running", manifest.name_of(NODE): "Running"}
            await made.kill_controller()

    run(story())


def test_defer_gets_the_room_of_a_pod_that_leaves(tmp_path: Path) -> None:
    async def story() -> None:
        async with node_world(tmp_path, OPTIONS) as around:
            made = await stage(around.cluster)
            await made.add("a", 5, 20, NODE)
            await made.add("b", 1, 20, NODE)
            await made.apply(spec("3", "12Gi"), NODE)
            await made.settle(10)
            await made.apply(spec("7", "28Gi", "Defer"), NODE)
            await made.settle(20)
            assert (await made.figures(NODE))["balloon"] == (7, 12)
            await made.sim.cluster.delete(ports.PODS, "default", "b", {"gracePeriodSeconds": 1})
            await made.settle(20)
            assert (await made.figures(NODE))["balloon"] == (7, 28)
            (balloon,) = await made.balloons(NODE)
            assert msgspec.json.decode(balloon["metadata"]["annotations"][names.DESIRED]) == {
                "cpu": "7",
                "memory": "28Gi",
            }
            await made.kill_controller()

    run(story())


@contextlib.asynccontextmanager
async def hardware(made: World, hypervisor: SimHypervisor) -> AsyncIterator[None]:
    """Somebody who plugs the machine."""

    @contextlib.asynccontextmanager
    async def opening(_: str) -> AsyncIterator[MachineEnd]:
        yield HypervisedEnd(hypervisor, patience_s=5)

    task = asyncio.create_task(MachineKeeper(made.decider, opening, made.sim.clock, made.wake).run())
    yield
    task.cancel()
    await asyncio.wait({task})


def test_the_machine_follows_and_the_agent_prepares_for_it(tmp_path: Path) -> None:
    """Grow past the boot size, shrink again, and shrink below it, where the guest cannot follow with memory."""

    def wish(cpu: str, memory: str) -> Json:
        target = {"effective": {"cpu": cpu, "memory": memory}}
        return {"target": target, "via": "Auto", "machine": {"qmp": "/x"}, "onInsufficient": "Fail"}

    async def story() -> None:
        host = SimHost("0-3", 4 * GIB)
        following = ResizeSettings(plug=True, unplug=True)
        options = NodeOptions(hardware=host, config=OPTIONS.config, resize=following)
        machine = MachineSpec(NODE, cpus=4, max_cpus=8, memory=4 * GIB, max_memory=16 * GIB)
        async with node_world(tmp_path, options) as around:
            made = await stage(around.cluster)
            async with hardware(made, SimHypervisor(machine, hardware=host)):
                await made.add("a", 1, 1, NODE)
                await made.apply(wish("6", "8Gi"), NODE)
                await made.settle(20)
                assert (await made.status(NODE))["allocatable"] == {"cpu": "6", "memory": "8Gi"}
                assert (await made.figures(NODE))["effective"] == (5.999, 7.984375)
                await made.apply(wish("3", "4Gi"), NODE)
                await made.settle(40)
                assert (await made.status(NODE))["allocatable"] == {"cpu": "3", "memory": "4Gi"}
                assert (await made.figures(NODE))["effective"] == (2.999, 3.984375)
                await made.apply(wish("2", "2Gi"), NODE)
                await made.settle(40)
                status = await made.status(NODE)
                assert status["allocatable"] == {"cpu": "2", "memory": "4Gi"}
                assert (await made.figures(NODE))["effective"] == (1.999, 2)
                assert status["machine"]["message"].endswith("the balloon is the downsizing")
                assert (await made.condition("Ready", NODE))["status"] == "True"
            phases = {p["metadata"]["name"]: p["status"]["phase"] for p in await made.pods()}
            assert phases == {"a": "Running", manifest.name_of(NODE): "Running"}
            assert await made.taints(NODE) == []
            await made.kill_controller()

    run(story())
