"""The controller and our own agent together: scenarios of balloon.md §12 on a whole node of 15 CPUs and 60Gi."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.nodesize.world import Json, World, world

from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.nodesize import manifest, names
from flexlet.ports.cluster import NODES, PODS
from flexlet.testing import NodeOptions, SimulatedNode, idle
from flexlet.testing.simtime import run

PENDING = {"key": names.PENDING_TAINT, "effect": "NoSchedule"}
FOLLOWS = ResizeSettings(plug=True, unplug=True)


class Native:
    """One node with its agent, and the controller that sizes it."""

    def __init__(self, stage: World, node: SimulatedNode) -> None:
        self.stage = stage
        self.node = node

    async def settle(self, seconds: float = 5.0) -> None:
        await self.stage.settle(seconds)
        await idle()

    async def want(self, cpu: int, gib: int, **spec: Any) -> None:
        await self.stage.apply({"target": {"effective": {"cpu": str(cpu), "memory": f"{gib}Gi"}}, **spec})
        await self.settle()

    async def phase(self, name: str) -> str:
        found = (await self.stage.sim.pod(name))["status"]
        return str(found.get("reason") or found["phase"])

    def capped(self) -> Json:
        files = self.node.cgroup("kubepods")
        return {name: files.get(name, "") for name in ("cpu.max", "memory.high", "memory.max")}

    async def granted(self) -> int:
        """The balloon's memory as the node granted it, as the API has it."""
        (balloon,) = await self.stage.balloons()
        (status,) = balloon["status"]["containerStatuses"]
        return Quantity.parse(status["allocatedResources"]["memory"]).value


@contextlib.asynccontextmanager
async def native(directory: Path, *, pending: bool = False, **more: Any) -> AsyncIterator[Native]:
    config: Json = {"evictionHard": {"memory.available": "0%", "nodefs.available": "0%"}}
    config |= {"registerWithTaints": [PENDING]} if pending else {}
    options = NodeOptions(name="n1", cpus="0-14", memory=60 * GIB, config=config, **more)
    async with world(nodes=()) as stage:
        node = SimulatedNode(stage.sim, directory, options)
        async with node.running():
            made = Native(stage, node)
            await made.settle(2)
            stage.start_controller()
            yield made
            await stage.kill_controller()


def held(cpu: int, gib: int) -> Json:
    return {"cpu.max": f"{cpu * 100_000} 100000", "memory.high": str(gib * GIB), "memory.max": str(gib * GIB)}


def test_a_node_that_boots_lets_nobody_in_until_its_balloon_has_its_size(tmp_path: Path) -> None:
    """§5.1: the node registers with the taint, and the controller takes it away."""

    async def story() -> None:
        async with native(tmp_path, pending=True) as at:
            assert await at.stage.taints() == [names.PENDING_TAINT]
            await at.want(8, 32)
            assert await at.stage.figures() == {"balloon": (7, 28), "effective": (8, 32), "headroom": (8, 32)}
            assert (await at.stage.status())["mode"] == "native"
            assert await at.stage.taints() == []
            (balloon,) = await at.stage.balloons()
            assert balloon["spec"]["priorityClassName"] == "flexlet-balloon"

    run(story())


def test_deflates_are_granted_and_inflates_without_room_refused(tmp_path: Path) -> None:
    """Scenarios 1 to 3: nobody is hurt, and the answer comes at once."""

    async def story() -> None:
        async with native(tmp_path) as at:
            await at.want(8, 32, onInsufficient="Fail")
            await at.stage.add("web", 5, 20)
            await at.settle()
            await at.want(12, 48, onInsufficient="Fail")
            assert (await at.stage.figures())["balloon"] == (3, 12)
            await at.want(4, 16, onInsufficient="Fail")
            await at.settle(10)
            assert (await at.stage.figures())["balloon"] == (3, 12)
            assert (await at.stage.condition("Insufficient"))["reason"] == "Refused"
            assert await at.phase("web") == "Running"

    run(story())


@pytest.mark.parametrize("follows", [True, False])
def test_15_a_restart_that_sees_less_costs_the_balloon_alone(tmp_path: Path, follows: bool) -> None:
    async def story() -> None:
        async with native(tmp_path, resize=FOLLOWS if follows else ResizeSettings()) as at:
            await at.want(8, 32)
            await at.stage.add("web", 5, 20)
            await at.settle()
            await at.node.kill()
            at.node.host.memory = 44 * GIB
            await at.node.start()
            await at.settle(20)
            assert await at.stage.figures() == {"balloon": (7, 12), "effective": (8, 32), "headroom": (3, 12)}
            assert await at.phase("web") == "Running"

    run(story())


def test_21_a_machine_that_shrinks_under_the_balloon(tmp_path: Path) -> None:
    """40Gi are left: the effective size of 32Gi stays, with 8Gi of balloon."""

    async def story() -> None:
        async with native(tmp_path, resize=FOLLOWS) as at:
            await at.want(8, 32)
            await at.stage.add("web", 5, 20)
            await at.settle()
            at.node.host.memory = 40 * GIB
            await at.settle(60)
            assert await at.stage.figures() == {"balloon": (7, 8), "effective": (8, 32), "headroom": (3, 12)}
            assert await at.phase("web") == "Running"

    run(story())


def test_a_balloon_that_was_deleted_comes_back_and_the_cap_stays(tmp_path: Path) -> None:
    """Scenario 11, with enforcement: not for a moment may pods use what does not exist."""

    async def story() -> None:
        async with native(tmp_path) as at:
            await at.want(8, 32, enforce="CpuAndMemory")
            assert at.capped() == held(8, 32)
            await at.stage.sim.delete(manifest.name_of("n1"), names.NAMESPACE, grace_s=0)
            for _ in range(20):
                await at.settle(0.25)
                assert at.capped() == held(8, 32)
            assert (await at.stage.figures())["balloon"] == (7, 28)

    run(story())


@pytest.mark.slow
def test_limits_are_never_below_what_pods_may_use(tmp_path: Path) -> None:
    """§6: raised before the balloon is smaller, lowered after it is larger; nothing is left of it in the end."""

    async def story() -> None:
        async with native(tmp_path) as at:
            await at.want(8, 32, enforce="CpuAndMemory")
            assert at.capped() == held(8, 32)
            watching = asyncio.create_task(watch(at))
            for cpu, gib in ((12, 48), (6, 24), (7, 50), (14, 20), (8, 32)):
                await at.want(cpu, gib, enforce="CpuAndMemory")
                await at.settle(10)
                assert at.capped() == held(cpu, gib)
            assert not watching.done(), watching.exception()
            watching.cancel()
            await at.want(8, 32)
            assert at.capped() == {"cpu.max": "max 100000", "memory.high": "max", "memory.max": str(60 * GIB)}

    async def watch(at: Native) -> None:
        while True:
            await asyncio.sleep(0.01)
            limit = int(at.capped()["memory.max"])
            assert limit >= 60 * GIB - await at.granted()

    run(story())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_agents_that_die_on_the_way_leave_no_node_open(tmp_path: Path, seed: int) -> None:
    """Killed at any moment: pods are never held to less than they may use, and in the end to just that."""

    async def story() -> None:
        dice = random.Random(seed)  # noqa: S311 a story told twice is the same story
        async with native(tmp_path) as at:
            await at.stage.add("web", 5, 16)
            await at.want(8, 32, enforce="CpuAndMemory")
            for _ in range(8):
                cpu, gib = dice.randint(5, 14), dice.randint(20, 56)
                target = {"effective": {"cpu": str(cpu), "memory": f"{gib}Gi"}}
                await at.stage.apply({"target": target, "enforce": "CpuAndMemory"})
                for _ in range(dice.randint(1, 3)):
                    await asyncio.sleep(dice.choice((0.0, 0.001, 0.01, 0.05, 0.3, 1.0)))
                    await at.node.restart()
                    assert int(at.capped()["memory.max"]) < 60 * GIB
                    assert int(at.capped()["memory.max"]) >= 60 * GIB - await at.granted()
                await at.settle(40)
                assert at.capped() == held(cpu, gib)
                assert await at.phase("web") == "Running"

    run(story())


def test_the_node_says_whose_it_is(tmp_path: Path) -> None:
    async def story() -> None:
        async with native(tmp_path) as at:
            found = await at.stage.get(NODES, "n1") or {}
            assert found["metadata"]["annotations"][names.AGENT] == "simulated"
            assert await at.stage.get(PODS, manifest.name_of("n1"), names.NAMESPACE) is None

    run(story())
