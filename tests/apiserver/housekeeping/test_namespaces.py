"""The end of namespaces, on a pipeline in memory."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import msgspec
import pytest
from tests.apiserver.rest.world import NOW, TIME, World, config

from flexlet.api import status
from flexlet.apiserver.housekeeping import namespaces
from flexlet.apiserver.housekeeping.namespaces import Left, conditions
from flexlet.apiserver.local import LocalCluster
from flexlet.apiserver.store import Store
from flexlet.ports.cluster import NAMESPACES, PODS, Ref

MAPS = Ref("", "v1", "configmaps")


class QuickClock:
    """Never waits longer than a turn of the loop."""

    def now(self) -> float:
        return NOW

    def monotonic(self) -> float:
        return NOW

    async def sleep(self, seconds: float) -> None:
        del seconds
        await asyncio.sleep(0.001)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    store = await Store.open(None)
    yield World(store)
    await store.close()


def contents() -> Iterable[Ref]:
    return (MAPS, PODS)


@asynccontextmanager
async def terminating(world: World) -> AsyncIterator[None]:
    task = asyncio.create_task(namespaces.terminate(LocalCluster(world.rest), QuickClock(), contents))
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def until(holds: Callable[[], bool]) -> None:
    """Let the loop turn until something holds."""
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 the store tells watchers, not tests
            await asyncio.sleep(0.001)


async def gone(world: World) -> None:
    await until(lambda: not world.store.list("namespaces"))


async def test_a_namespace_goes_with_everything_in_it(world: World) -> None:
    await world.create("namespaces", config("ns"))
    await world.create("configmaps", config("a"))
    await world.pod("p")
    async with terminating(world):
        await world.delete("namespaces", "ns")
        await gone(world)
    assert await world.names("configmaps") == []
    assert await world.names("pods") == []


async def test_what_holds_it_up_is_said_and_waited_for(world: World) -> None:
    await world.create("namespaces", config("ns"))
    await world.create("configmaps", config("a", finalizers=["example.com/hold"]))
    async with terminating(world):
        await world.delete("namespaces", "ns")
        await until(lambda: "conditions" in world.get("namespaces", "ns")["status"])
        messages = {c["type"]: c["message"] for c in world.get("namespaces", "ns")["status"]["conditions"]}
        assert messages["NamespaceContentRemaining"] == (
            "Some resources are remaining: configmaps. has 1 resource instances"
        )
        assert messages["NamespaceFinalizersRemaining"] == (
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"
        )
        await world.patch("configmaps", "a", {"metadata": {"finalizers": None}})
        await gone(world)


async def test_another_finalizer_keeps_the_namespace(world: World) -> None:
    """Emptying it is our part; whoever added the other finalizer has theirs."""
    await world.create("namespaces", config("ns"))
    namespace = world.get("namespaces", "ns")
    namespace["spec"]["finalizers"].append("example.com/mine")
    await world.update("namespaces", namespace, "finalize")
    async with terminating(world):
        await world.delete("namespaces", "ns")
        await until(lambda: "kubernetes" not in world.get("namespaces", "ns")["spec"]["finalizers"])
    assert world.get("namespaces", "ns")["spec"]["finalizers"] == ["example.com/mine"]


async def test_other_namespaces_are_left_alone(world: World) -> None:
    await world.create("namespaces", config("other"))
    await world.create("configmaps", config("a"))
    cluster = LocalCluster(world.rest)
    async with terminating(world):
        await world.delete("namespaces", "other")
        await gone(world)
    assert msgspec.json.decode(await cluster.get(MAPS, "ns", "a"))["metadata"]["name"] == "a"
    with pytest.raises(status.NotFound):
        await cluster.get(NAMESPACES, "", "other")


def test_times_of_conditions_change_with_their_status_only() -> None:
    nothing = Left(Counter(), Counter())
    something = Left(Counter({"pods.": 2}), Counter())
    first = conditions([], something, TIME)
    later = conditions(first, Left(Counter({"pods.": 1}), Counter()), "later")
    done = conditions(later, nothing, "done")
    remaining = 3
    assert [item["type"] for item in first] == list(namespaces.WELL)
    assert (first[remaining]["status"], first[remaining]["lastTransitionTime"]) == ("True", TIME)
    assert later[remaining]["message"] == "Some resources are remaining: pods. has 1 resource instances"
    assert later[remaining]["lastTransitionTime"] == TIME
    assert (done[remaining]["status"], done[remaining]["lastTransitionTime"]) == ("False", "done")
    assert done[0]["lastTransitionTime"] == TIME
