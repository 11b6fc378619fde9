"""Pods that find no place make nodes larger; what nobody uses is taken back (balloon.md §9)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from tests.scenarios.nodesize.machines import FakeEnd, kept
from tests.scenarios.nodesize.world import SIZES, World, world

from flexlet.core.nodesize import names
from flexlet.core.nodesize.autoscaler import OPT_OUT, AutoscalerDecider, ScalerSettings
from flexlet.core.refs import NODES, PODS
from flexlet.testing.simtime import run


@contextlib.asynccontextmanager
async def scaled(stage: World, quiet_s: float = 600.0) -> AsyncIterator[None]:
    """Scheduler, controller and autoscaler at work."""
    decider = AutoscalerDecider(ScalerSettings(quiet_s=quiet_s))
    loop = stage.loop(decider, (names.NODE_SIZES, NODES, PODS))
    tasks = [asyncio.create_task(stage.sim.schedule()), asyncio.create_task(loop.run())]
    stage.start_controller()
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def spec(cpu: str, memory: str, **more: Any) -> dict[str, Any]:
    return {"target": {"effective": {"cpu": cpu, "memory": memory}}, **more}


async def phase(stage: World, name: str) -> str:
    return next(str(p["status"]["phase"]) for p in await stage.pods() if p["metadata"]["name"] == name)


def test_the_node_that_needs_least_grows_for_a_pod_that_waits() -> None:
    async def story() -> None:
        async with world(nodes=("n1", "n2")) as stage, scaled(stage):
            await stage.apply(spec("2", "8Gi"), "n1")
            await stage.apply(spec("4", "8Gi"), "n2")
            await stage.settle(3)
            await stage.add("web", 6, 10, node="")
            await stage.settle(5)
            assert await phase(stage, "web") == "Running"
            assert (await stage.figures("n1"))["effective"] == (2, 8)
            assert (await stage.figures("n2"))["effective"] == (6, 10)
            assert ("NodeSizeScaled", "target effective is now 6 CPUs and 10Gi: for pods that wait") in (
                await stage.events()
            )

    run(story())


def test_several_pods_are_thought_of_together() -> None:
    async def story() -> None:
        async with world() as stage, scaled(stage):
            await stage.apply(spec("1", "4Gi"))
            await stage.settle(3)
            for name in ("a", "b", "c"):
                await stage.add(name, 2, 4, node="")
            await stage.settle(5)
            assert [await phase(stage, name) for name in ("a", "b", "c")] == ["Running"] * 3
            assert (await stage.figures())["effective"] == (6, 12)

    run(story())


def test_what_a_larger_node_would_not_help_is_left_waiting() -> None:
    async def story() -> None:
        async with world() as stage, scaled(stage):
            await stage.apply(spec("2", "8Gi"))
            await stage.settle(3)
            await stage.add("picky", 4, 4, node="", nodeSelector={"disk": "fast"})
            await stage.add("giant", 20, 4, node="")
            await stage.settle(5)
            assert [await phase(stage, name) for name in ("picky", "giant")] == ["Pending", "Pending"]
            assert (await stage.figures())["effective"] == (2, 8)

    run(story())


def test_what_the_balloon_cannot_give_is_plugged_and_goes_again_when_idle() -> None:
    """Up: deflate, then plug; down: inflate, then unplug. A node that need not be plugged is preferred."""

    async def story() -> None:
        async with world(nodes=("n1", "n2")) as stage, scaled(stage, quiet_s=60):
            end = FakeEnd(stage, 15, 60)
            async with kept(stage, end):
                behind = {"via": "Auto", "machine": {"qmp": "/run/n1.qmp"}}
                await stage.apply(spec("2", "8Gi", **behind), "n1")
                await stage.apply(spec("2", "8Gi"), "n2")
                await stage.settle(10)
                assert end.asked == [("unplug", 13, 52)]
                await stage.add("first", 4, 10, node="")
                await stage.settle(5)
                assert (await phase(stage, "first"), len(end.asked)) == ("Running", 1)
                await stage.add("large", 20, 40, node="")
                await stage.settle(10)
                assert await phase(stage, "large") == "Running"
                assert end.asked[1:] == [("plug", 19, 32.125)]
                await stage.remove("large")
                await stage.settle(90)
                assert (end.asked[2:], end.cpus) == ([("unplug", 19, 39.0)], 2)
            assert {p["status"]["phase"] for p in await stage.pods()} == {"Running"}

    run(story())


def test_idle_size_is_taken_back_after_a_quiet_time() -> None:
    async def story() -> None:
        async with world() as stage, scaled(stage, quiet_s=60):
            await stage.apply(spec("12", "48Gi", minEffective={"cpu": "3"}))
            await stage.add("web", 2, 10)
            await stage.settle(50)
            assert (await stage.figures())["effective"] == (12, 48)
            await stage.settle(20)
            assert (await stage.figures())["effective"] == (3, 11)

    run(story())


def test_a_node_may_stay_out_of_it() -> None:
    async def story() -> None:
        async with world() as stage, scaled(stage, quiet_s=10):
            await stage.apply(spec("2", "8Gi"), annotations={OPT_OUT: "false"})
            await stage.settle(3)
            await stage.add("web", 6, 10, node="")
            await stage.settle(30)
            assert await phase(stage, "web") == "Pending"
            size = await stage.get(SIZES, "n1")
            assert size is not None
            assert size["spec"]["target"] == {"effective": {"cpu": "2", "memory": "8Gi"}}

    run(story())
