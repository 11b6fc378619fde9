"""Scenarios 13 and 14 of balloon.md §12, and what else there is when the machine follows (§5.8)."""

from tests.scenarios.nodesize.machines import FakeEnd, kept
from tests.scenarios.nodesize.world import World, world

from flexlet.api.units import GIB
from flexlet.core.nodesize import names
from flexlet.ports import cluster as ports
from flexlet.testing.simtime import run

QMP = {"machine": {"qmp": "/run/n1.qmp"}}


def wish(cpu: str, memory: str, via: str = "Auto") -> dict[str, object]:
    return {"target": {"effective": {"cpu": cpu, "memory": memory}}, "onInsufficient": "Fail", "via": via, **QMP}


async def begin(stage: World, balloon: tuple[str, str], pods: tuple[float, float]) -> None:
    await stage.add("a", *pods)
    stage.start_controller()
    target = {"balloon": {"cpu": balloon[0], "memory": balloon[1]}}
    await stage.apply({"target": target, "onInsufficient": "Fail", "via": "Balloon"})
    await stage.settle(3)


async def notes(stage: World) -> set[str]:
    node = await stage.get(ports.NODES, "n1") or {}
    return {names.DESIRED_CAPACITY, names.UNPLUG_READY} & set(node["metadata"].get("annotations", {}))


def test_13_a_fence_that_does_not_fit_stops_everything() -> None:
    async def story() -> None:
        async with world() as stage:
            await begin(stage, ("7", "28Gi"), (5, 20))
            end = FakeEnd(stage, 15, 60)
            async with kept(stage, end):
                await stage.apply(wish("4", "16Gi"))
                await stage.settle(10)
                assert (await stage.figures())["balloon"] == (7, 28)
                status = await stage.status()
                assert {r["resource"]: r["missing"] for r in status["progress"]} == {"cpu": "1", "memory": "4Gi"}
                assert end.asked == []

    run(story())


def test_14_what_the_guest_keeps_stays_behind_the_balloon() -> None:
    async def story() -> None:
        async with world() as stage:
            await begin(stage, ("3", "12Gi"), (5, 20))
            end = FakeEnd(stage, 15, 60, keeps=4)
            async with kept(stage, end):
                await stage.apply(wish("8", "32Gi"))
                await stage.settle(10)
                assert end.asked == [("unplug", 4, 16)]
                assert await stage.figures() == {"balloon": (3, 16), "effective": (8, 32), "headroom": (3, 12)}
                status = await stage.status()
                assert status["allocatable"] == {"cpu": "11", "memory": "48Gi"}
                assert status["machine"]["phase"] == "Refused"
                assert status["machine"]["message"] == "the guest keeps dimm3: the balloon is the downsizing"
                assert await notes(stage) == set()
                ready = await stage.condition("Ready")
                assert (ready["status"], ready["message"]) == ("True", status["machine"]["message"])
                assert ("MachineRefused", status["machine"]["message"]) in await stage.events()
                assert {p["status"]["phase"] for p in await stage.pods()} == {"Running"}

    run(story())


def test_a_willing_guest_gives_all_back() -> None:
    async def story() -> None:
        async with world() as stage:
            await begin(stage, ("3", "12Gi"), (5, 20))
            end = FakeEnd(stage, 15, 60)
            async with kept(stage, end):
                await stage.apply(wish("8", "32Gi"))
                await stage.settle(10)
                assert await stage.figures() == {"balloon": (3, 12), "effective": (8, 32), "headroom": (3, 12)}
                assert (await stage.condition("Ready"))["status"] == "True"

    run(story())


def test_hardware_takes_out_all_that_is_behind_the_balloon() -> None:
    async def story() -> None:
        async with world() as stage:
            await begin(stage, ("3", "12Gi"), (5, 20))
            end = FakeEnd(stage, 15, 60)
            async with kept(stage, end):
                await stage.apply(wish("8", "32Gi", "Hardware"))
                await stage.settle(10)
                assert end.asked == [("unplug", 7, 28)]
                figures = await stage.figures()
                assert figures["balloon"] == (0.001, 0.015625)
                assert figures["effective"] == (7.999, 31.984375)

    run(story())


def test_growth_deflates_first_and_plugs_the_rest() -> None:
    async def story() -> None:
        async with world() as stage:
            await begin(stage, ("7", "28Gi"), (5, 20))
            end = FakeEnd(stage, 15, 60)
            async with kept(stage, end):
                await stage.apply(wish("12", "48Gi"))
                await stage.settle(5)
                assert end.asked == []
                assert (await stage.figures())["effective"] == (12, 48)
                await stage.apply(wish("20", "64Gi"))
                await stage.settle(10)
                assert end.asked == [("plug", 5, 4)]
                assert (await stage.figures())["effective"] == (19.999, 63.984375)
                assert (await stage.condition("Ready"))["status"] == "True"

    run(story())


def test_growth_beyond_the_machine_says_so_and_keeps_what_it_got() -> None:
    async def story() -> None:
        async with world() as stage:
            await begin(stage, ("7", "28Gi"), (5, 20))
            async with kept(stage, FakeEnd(stage, 15, 60, limit=17)):
                await stage.apply(wish("20", "48Gi"))
                await stage.settle(10)
                assert (await stage.figures())["effective"] == (16.999, 48)
                lacking = await stage.condition("Insufficient")
                assert (lacking["status"], lacking["reason"]) == ("True", "PartiallyGranted")
                assert "no free slot" in lacking["message"]

    run(story())


def test_a_controller_that_dies_does_not_plug_twice() -> None:
    async def story() -> None:
        async with world() as stage:
            await begin(stage, ("7", "28Gi"), (5, 20))
            end = FakeEnd(stage, 15, 60)
            for pause in (0.05, 0.1, 0.15, 0.2, 0.3, 5.0):
                async with kept(stage, end):
                    await stage.apply(wish("20", "64Gi"))
                    await stage.settle(pause)
                    await stage.kill_controller()
                stage.start_controller()
            async with kept(stage, end):
                await stage.settle(5)
            assert (end.cpus, end.gib) == (20, 64)
            assert (await stage.figures())["effective"] == (19.999, 63.984375)

    run(story())


def test_a_new_wish_calls_a_shrink_off() -> None:
    async def story() -> None:
        async with world() as stage:
            await begin(stage, ("3", "12Gi"), (5, 20))
            end = FakeEnd(stage, 15, 60)
            async with kept(stage, end):
                await stage.apply(wish("8", "32Gi"))
                await stage.settle(0.5)
                assert names.DESIRED_CAPACITY in await notes(stage)
                await stage.apply(wish("12", "48Gi"))
                await stage.settle(10)
                assert await notes(stage) == set()
                assert end.asked == []
                assert (await stage.figures())["effective"] == (12, 48)

    run(story())


def test_a_node_that_does_not_let_go_is_heard_at_once() -> None:
    async def story() -> None:
        async with world() as stage:
            await begin(stage, ("3", "12Gi"), (5, 20))
            end = FakeEnd(stage, 15, 60)
            async with kept(stage, end, obliging=False):
                await stage.apply(wish("8", "32Gi"))
                await stage.settle(5)
                assert end.asked == []
                machine = (await stage.status())["machine"]
                assert machine["message"] == "CPU 0 must stay: the balloon is the downsizing"
                assert await stage.figures() == {"balloon": (7, 28), "effective": (8, 32), "headroom": (3, 12)}
                assert await notes(stage) == set()

    run(story())


def test_only_memory_in_modules_is_asked_for() -> None:
    """What the machine was started with stays behind the balloon, and nobody is asked to empty it."""

    async def story() -> None:
        async with world() as stage:
            await begin(stage, ("3", "12Gi"), (5, 20))
            end = FakeEnd(stage, 15, 60, modules=(12, 8))
            async with kept(stage, end):
                await stage.apply(wish("8", "32Gi"))
                await stage.settle(10)
                assert end.asked == [("unplug", 4, 12)]
                assert await stage.figures() == {"balloon": (3, 16), "effective": (8, 32), "headroom": (3, 12)}
                said = f"{4 * GIB} bytes of memory are not in modules that can be taken out"
                assert (await stage.status())["machine"]["message"] == f"{said}: the balloon is the downsizing"
                assert (await stage.condition("Ready"))["status"] == "True"

    run(story())
