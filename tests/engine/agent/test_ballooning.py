"""Balloons on a whole node: 15 CPUs and 60Gi, as in balloon.md §12; amounts are ``cpu,Gi``."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engine.agent.world import World, pod, world

from flexlet.api.units import GIB
from flexlet.core.balloon import enforcement, names
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.ports.cluster import PODS
from flexlet.testing import NodeOptions, idle
from flexlet.testing.simtime import run

Json = dict[str, Any]

SYSTEM = "kube-system"
NONE = {"memory.available": "0%", "nodefs.available": "0%"}
FOLLOWS = ResizeSettings(plug=True, unplug=True)


def options(**more: Any) -> NodeOptions:
    return NodeOptions(
        cpus="0-14", memory=60 * GIB, config={"evictionHard": NONE} | more.pop("config", {}), **more
    )


def amounts(size: str) -> Json:
    cpu, memory = size.split(",")
    return {"cpu": cpu, "memory": memory if memory.endswith("i") else f"{memory}Gi"}


def resources(size: str, *, limited: bool) -> Json:
    """Guaranteed if it is limited."""
    return {"requests": amounts(size)} | ({"limits": amounts(size)} if limited else {})


class Node:
    """A node with a balloon and one pod beside it."""

    def __init__(self, at: World) -> None:
        self.at = at
        self.uids: dict[str, str] = {}

    async def settle(self, seconds: float = 3.0) -> None:
        await asyncio.sleep(seconds)
        await idle()

    async def balloon(
        self, size: str, *, critical: bool = False, enforce: Json | None = None, limited: bool = True
    ) -> None:
        body = pod("balloon", {"balloon": {"resources": resources(size, limited=limited)}})
        notes = {} if enforce is None else {names.ENFORCE: said(enforce)}
        body["metadata"] |= {"labels": {names.LABEL: "true"}, "annotations": notes}
        body["spec"] |= {"nodeName": "node-a", "priorityClassName": "system-node-critical" if critical else ""}
        body["spec"]["tolerations"] = [{"operator": "Exists"}]
        found = await self.at.cluster.create(PODS, body, SYSTEM)
        self.uids["balloon"] = found["metadata"]["uid"]
        await self.settle()

    async def workload(self, name: str, size: str, **spec: Any) -> None:
        containers = {"c": {"resources": {"requests": amounts(size)}}}
        self.uids[name] = await self.at.create(name, containers, **spec)
        await self.settle()

    async def resize(self, size: str, *, limited: bool = True) -> None:
        container = {"name": "balloon", "resources": resources(size, limited=limited)}
        await self.at.cluster.resize("balloon", {"spec": {"containers": [container]}}, SYSTEM)
        await self.settle()

    async def say(self, enforce: Json | None) -> None:
        notes = {names.ENFORCE: None if enforce is None else said(enforce)}
        body = {"metadata": {"annotations": notes}}
        await self.at.cluster.cluster.patch(PODS, SYSTEM, "balloon", body, kind="merge")
        await self.settle(0.5)

    async def get(self, name: str) -> Json:
        return await self.at.cluster.pod(name, SYSTEM if name == "balloon" else "default")

    async def size(self) -> tuple[str, str]:
        """What the balloon was granted, and why it waits for more."""
        status = (await self.get("balloon"))["status"]
        held = status["containerStatuses"][0]["allocatedResources"]
        waits = [each["reason"] for each in status["conditions"] if each["type"] == "PodResizePending"]
        return f"{held['cpu']},{held['memory'].removesuffix('Gi')}", ",".join(waits)

    async def phase(self, name: str) -> str:
        found = (await self.get(name))["status"]
        return str(found.get("reason") or found["phase"])

    def capped(self) -> Json:
        files = self.at.node.cgroup("kubepods")
        return {name: files.get(name, "") for name in ("cpu.max", "memory.high", "memory.max")}

    def uses(self, name: str, gib: float) -> None:
        """As files in memory, which nobody takes away."""
        (container,) = self.at.node.containers(self.uids[name]).values()
        self.at.node.sim.kernel.machine.cgroups[container.cgroup].shmem = int(gib * GIB)


def said(enforce: Json) -> str:
    return msgspec.json.encode(enforce).decode()


@contextlib.asynccontextmanager
async def node(directory: Path, **more: Any) -> AsyncIterator[Node]:
    async with world(directory, options(**more)) as at:
        yield Node(at)


@pytest.mark.parametrize("critical", [False, True])
def test_a_balloon_never_preempts_and_what_it_gives_back_is_granted(tmp_path: Path, critical: bool) -> None:
    """Scenarios 1 to 3 and 6: 7/28 beside 5/20; a kubelet would kill for it if it were critical."""

    async def story() -> None:
        async with node(tmp_path) as at:
            await at.workload("web", "5,20")
            await at.balloon("7,28", critical=critical)
            await at.resize("3,12")
            assert await at.size() == ("3,12", "")
            await at.resize("3,41")
            assert (await at.size(), await at.phase("web")) == (("3,12", "Deferred"), "Running")
            await at.resize("7,28")
            assert await at.size() == ("7,28", "")

    run(story())


def test_a_balloon_gives_back_under_pressure(tmp_path: Path) -> None:
    async def story() -> None:
        async with node(tmp_path) as at:
            await at.balloon("7,28")
            assert at.at.node.agent is not None
            at.at.node.agent.selfview.tell(pressures=frozenset({"DiskPressure", "PIDPressure"}))
            await at.settle()
            await at.resize("3,12")
            assert await at.size() == ("3,12", "")

    run(story())


def test_static_managers_give_a_balloon_nothing_of_its_own(tmp_path: Path) -> None:
    """Scenario 17 on our own agent: shape G with whole CPUs shrinks, and nobody lost a CPU to it."""
    config = {
        "cpuManagerPolicy": "static",
        "reservedSystemCPUs": "0",
        "evictionHard": NONE,
    }

    async def story() -> None:
        async with node(tmp_path, config=config) as at:
            await at.balloon("7,28")
            world = at.at.node.agent.loop.world  # type: ignore[union-attr]
            assert world.managers.cpu.entries == {}
            await at.resize("3,12")
            assert await at.size() == ("3,12", "")

    run(story())


def test_a_balloon_without_limits_gives_back_on_a_node_with_swap(tmp_path: Path) -> None:
    """Scenario 18, shape R: more memory is refused, less is granted; the kernel can do that."""
    config = {"memorySwap": {"swapBehavior": "LimitedSwap"}, "failSwapOn": False}

    async def story() -> None:
        async with node(tmp_path, config=config) as at:
            await at.balloon("7,28", limited=False)
            await at.resize("7,12", limited=False)
            assert await at.size() == ("7,12", "")
            await at.resize("7,20", limited=False)
            assert await at.size() == ("7,12", "Infeasible")

    run(story())


@pytest.mark.parametrize("follows", [True, False])
def test_an_agent_that_starts_on_a_smaller_machine_shrinks_the_balloon(tmp_path: Path, follows: bool) -> None:
    """Scenario 15: the balloon is older than the pod, and yet it is the one that pays.

    The node takes what it must; how much smaller the balloon is wanted is for its owner to say.
    """

    async def story() -> None:
        async with node(tmp_path, resize=FOLLOWS if follows else ResizeSettings()) as at:
            await at.balloon("7,28")
            await at.workload("web", "5,20")
            await at.at.node.kill()
            at.at.node.host.memory = 44 * GIB
            await at.at.node.start()
            await at.settle(10)
            assert (await at.size(), await at.phase("web")) == (("7,24", "Deferred"), "Running")
            await at.resize("7,12")
            assert (await at.size(), await at.phase("web")) == (("7,12", ""), "Running")

    run(story())


def test_a_machine_that_shrinks_takes_from_the_balloon_first(tmp_path: Path) -> None:
    """Scenario 21: 20Gi vanish; the balloon has 20Gi of what is left, more is not to be had."""

    async def story() -> None:
        async with node(tmp_path, resize=FOLLOWS) as at:
            await at.balloon("7,28")
            await at.workload("web", "5,20")
            at.at.node.host.memory = 40 * GIB
            await at.settle(30)
            assert (await at.size(), await at.phase("web")) == (("7,20", "Deferred"), "Running")
            await at.resize("7,26")
            assert await at.size() == ("7,20", "Deferred")
            await at.resize("7,20")
            assert await at.size() == ("7,20", "")

    run(story())


def test_newcomers_do_not_get_what_a_balloon_held_before_a_restart(tmp_path: Path) -> None:
    """It was bound meanwhile by somebody who did not look: it would run in what does not exist."""

    async def story() -> None:
        async with node(tmp_path) as at:
            await at.workload("web", "5,20")
            await at.balloon("7,28")
            await at.at.node.kill()
            await at.at.create("late", {"c": {"resources": {"requests": amounts("4,4")}}})
            await at.at.node.start()
            await at.settle(10)
            assert await at.size() == ("7,28", "")
            assert (await at.phase("web"), await at.phase("late")) == ("Running", "OutOfcpu")

    run(story())


def test_nobody_ends_a_balloon_for_a_critical_pod(tmp_path: Path) -> None:
    """Scenario 20: nothing is free; the other pod makes way, and then nobody can."""

    async def story() -> None:
        async with node(tmp_path) as at:
            await at.balloon("10,40")
            await at.workload("web", "5,20")
            await at.workload("critical", "500m,1", priorityClassName="system-node-critical")
            await at.settle(10)
            assert await at.phase("balloon") == "Running"
            assert await at.phase("critical") == "Running"
            assert (await at.at.get("web") or {}).get("status", {}).get("phase") != "Running"
            await at.workload("larger", "5,1", priorityClassName="system-node-critical")
            assert await at.phase("larger") == "UnexpectedAdmissionError"
            assert await at.size() == ("10,40", "")

    run(story())


BOTH: Json = {"mode": "CpuAndMemory", "effective": {"cpu": "8", "memory": "32Gi"}}
OPEN: Json = {"cpu.max": "max 100000", "memory.high": "max", "memory.max": str(60 * GIB)}


def test_pods_are_held_to_what_the_balloon_leaves(tmp_path: Path) -> None:
    """CPU alone, then memory too, then nothing."""

    async def story() -> None:
        async with node(tmp_path) as at:
            await at.workload("web", "5,20")
            await at.balloon("7,28", enforce={"mode": "Cpu"})
            assert at.capped() == OPEN | {"cpu.max": "800000 100000"}
            await at.say(BOTH)
            limit = str(32 * GIB)
            held = {"cpu.max": "800000 100000", "memory.high": limit, "memory.max": limit}
            assert at.capped() == held
            await at.say({"mode": "what"})
            assert at.capped() == held
            await at.say({"mode": "None"})
            assert at.capped() == OPEN
            await at.say(BOTH)
            await at.say(None)
            assert at.capped() == OPEN

    run(story())


def test_the_threshold_of_eviction_is_left_between_requests_and_the_limit(tmp_path: Path) -> None:
    config = {"evictionHard": {"memory.available": "500Mi"}, "kubeReserved": {"cpu": "1", "memory": "1Gi"}}

    async def story() -> None:
        async with node(tmp_path, config=config) as at:
            await at.balloon("6,28", enforce={"mode": "CpuAndMemory"})
            limit = str((60 - 1 - 28) * GIB)
            assert at.capped() == {"cpu.max": "800000 100000", "memory.high": limit, "memory.max": limit}

    run(story())


def test_limits_rise_before_the_balloon_shrinks_and_fall_after_it_grew(tmp_path: Path) -> None:
    """The controller says the size to come first; without it the node goes by what the balloon asks for."""

    async def story() -> None:
        async with node(tmp_path) as at:
            await at.workload("web", "5,20")
            await at.balloon("7,28", enforce=BOTH)
            await at.say({"mode": "CpuAndMemory", "effective": {"cpu": "12", "memory": "48Gi"}})
            assert (await at.size(), at.capped()["memory.max"]) == (("7,28", ""), str(48 * GIB))
            await at.resize("3,12")
            assert at.capped() == {"cpu.max": "1200000 100000", **memory(48)}
            await at.resize("1,4")
            assert at.capped() == {"cpu.max": "1400000 100000", **memory(56)}
            await at.resize("5,45")
            assert (await at.size(), at.capped()["memory.max"]) == (("1,4", "Deferred"), str(56 * GIB))
            await at.resize("7,28")
            assert at.capped() == {"cpu.max": "1200000 100000", **memory(48)}
            await at.say(BOTH)
            assert at.capped() == {"cpu.max": "800000 100000", **memory(32)}

    run(story())


def memory(high: int, hard: int | None = None) -> Json:
    return {"memory.high": str(high * GIB), "memory.max": str((hard or high) * GIB)}


def test_the_hard_limit_waits_until_pods_use_less(tmp_path: Path) -> None:
    """memory.high at once, memory.max only with a twentieth of room; people are told."""

    async def story() -> None:
        async with node(tmp_path) as at:
            await at.workload("web", "5,20")
            at.uses("web", 31)
            await at.balloon("7,28", enforce=BOTH)
            assert at.capped() == {"cpu.max": "800000 100000", **memory(32, 60)}
            told = [each for each in await at.at.cluster.events() if each["reason"] == "BalloonEnforcementPending"]
            assert [each["involvedObject"]["name"] for each in told] == ["node-a"]
            at.uses("web", 30)
            await at.settle(6)
            assert at.capped() == {"cpu.max": "800000 100000", **memory(32)}
            at.uses("web", 25)
            await at.resize("7,35")
            await at.say({"mode": "CpuAndMemory", "effective": {"cpu": "8", "memory": "25Gi"}})
            assert at.capped() == {"cpu.max": "800000 100000", **memory(25, 32)}

    run(story())


def test_the_lower_of_machine_and_balloon_counts(tmp_path: Path) -> None:
    async def story() -> None:
        async with node(tmp_path, resize=FOLLOWS) as at:
            await at.balloon("7,28", enforce=BOTH)
            at.at.node.host.memory = 30 * GIB
            await at.settle(90)
            assert at.capped() == {"cpu.max": "800000 100000", **memory(32), "memory.max": str(30 * GIB)}
            at.at.node.host.memory = 64 * GIB
            await at.settle(90)
            await at.resize("7,28")
            assert at.capped() == {"cpu.max": "800000 100000", **memory(36)}

    run(story())


def test_an_agent_that_restarts_never_opens_the_cap_not_even_without_the_api(tmp_path: Path) -> None:
    async def story() -> None:
        async with node(tmp_path) as at:
            await at.workload("web", "5,20")
            await at.balloon("7,28", enforce=BOTH)
            await at.at.node.kill()
            written: list[tuple[str, str]] = []
            cgroups = at.at.node.sim.cgroups
            write = cgroups.write

            async def watched(path: str, files: Any) -> None:
                written.extend((path, name) for name in files if path == "kubepods" and name.startswith("memory."))
                await write(path, files)
                assert at.capped() == {"cpu.max": "800000 100000", **memory(32)}

            cgroups.write = watched  # type: ignore[method-assign, assignment]
            await start_cut_off(at)
            await at.settle(60)
            assert at.capped() == {"cpu.max": "800000 100000", **memory(32)}
            assert ("kubepods", "memory.max") in written
            await at.at.node.kill()

    run(story())


async def start_cut_off(at: Node) -> None:
    """Start an agent whose API does not answer."""
    cluster = at.at.cluster
    real = cluster.as_node

    class Silent:
        def __getattr__(self, name: str) -> Any:
            async def never(*_: Any, **__: Any) -> Any:
                await asyncio.sleep(1e9)

            return never

    cluster.as_node = lambda _: Silent()  # type: ignore[assignment, method-assign, return-value]
    await at.at.node.start()
    cluster.as_node = real  # type: ignore[method-assign]


def test_a_cap_outlives_a_balloon_that_vanished(tmp_path: Path) -> None:
    """It is expected back; if it does not come for ten minutes pods get everything again, and people are told."""

    async def story() -> None:
        async with node(tmp_path) as at:
            await at.balloon("7,28", enforce=BOTH)
            await at.at.cluster.delete("balloon", SYSTEM, grace_s=0)
            await at.settle(300)
            assert at.capped() == {"cpu.max": "800000 100000", **memory(32)}
            await at.balloon("7,28", enforce=BOTH)
            await at.settle(400)
            assert at.capped() == {"cpu.max": "800000 100000", **memory(32)}
            await at.at.cluster.delete("balloon", SYSTEM, grace_s=0)
            await at.settle(620)
            assert at.capped() == OPEN
            told = [each["reason"] for each in await at.at.cluster.events()]
            assert told.count("BalloonEnforcementLifted") == 1

    run(story())


def test_a_spoiled_checkpoint_is_kept_beside(tmp_path: Path) -> None:
    async def story() -> None:
        async with node(tmp_path) as at:
            await at.balloon("7,28", enforce=BOTH)
            await at.at.node.kill()
            files = at.at.node.checkpoints.files
            files[enforcement.FILE] = b"{"
            await at.at.node.start()
            await at.settle(10)
            assert files[f"{enforcement.FILE}.bad"] == b"{"
            assert at.capped() == {"cpu.max": "800000 100000", **memory(32)}

    run(story())
