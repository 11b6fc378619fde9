"""The controller with flexlet's own agent as the node: the same wishes, the real answers."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engine.agent.world import world as node_world
from tests.scenarios.nodesize.world import World

from flexlet.apiserver.housekeeping.crds import Definitions
from flexlet.apps import nodesize
from flexlet.core.hollow.machine import Machine
from flexlet.core.nodesize import manifest, names
from flexlet.core.nodesize.settings import Settings
from flexlet.ports import cluster as ports
from flexlet.testing import NodeOptions
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
