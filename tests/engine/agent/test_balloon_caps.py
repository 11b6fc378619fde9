"""Pods that are held to what a balloon leaves them, whatever happens to the balloon or the agent."""

import asyncio
from pathlib import Path
from typing import Any

from tests.engine.agent.balloons import FOLLOWS, SYSTEM, Json, Node, node

from flexlet.api.units import GIB
from flexlet.core.balloon import enforcement
from flexlet.testing.simtime import run

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
