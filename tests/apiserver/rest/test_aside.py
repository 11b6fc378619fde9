"""Large objects are read and judged beside the event loop; what others do meanwhile is not overlooked."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from tests.apiserver.rest.world import World, config

from flexlet.api import status
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from flexlet.apiserver.kinds.configmap import ConfigMapStrategy
from flexlet.apiserver.rest.aside import LARGE_BYTES
from flexlet.apiserver.store import Store

LOOP = "MainThread"
ASIDE = "objects_0"


class Watched(ConfigMapStrategy):
    """Writes down in which thread each rule runs, and runs something else in between."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.meanwhile: Callable[[], None] | None = None

    def fill(self, obj: dict[str, Any]) -> None:
        self.threads.append(threading.current_thread().name)
        super().fill(obj)

    def check(self, obj: dict[str, Any]) -> list[FieldError]:
        self.threads.append(threading.current_thread().name)
        if self.meanwhile is not None:
            self.meanwhile()
        return super().check(obj)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    opened = await Store.open(None)
    yield opened
    await opened.close()


def watched(world: World) -> Watched:
    strategy = Watched()
    world.registry.add(msgspec.structs.replace(world.kind("configmaps"), strategy=strategy))
    return strategy


async def test_small_objects_stay_on_the_loop_and_large_ones_do_not(store: Store) -> None:
    """A patch of a few bytes to a large object is work on a large object."""
    world = World(store)
    strategy = watched(world)
    await world.create("configmaps", config("a", {"k": "v"}), size=100)
    await world.update("configmaps", config("a", {"k": "w"}), size=100)
    assert set(strategy.threads) == {LOOP}
    strategy.threads.clear()
    large = {"k": "x" * LARGE_BYTES}
    await world.create("configmaps", config("b", large), size=LARGE_BYTES + 100)
    await world.update("configmaps", config("b", {"k": "w"}), size=100)
    await world.update("configmaps", config("b", large), size=LARGE_BYTES + 100)
    await world.patch("configmaps", "b", {"data": {"l": "v"}}, size=20)
    assert set(strategy.threads) == {ASIDE}


async def test_a_namespace_that_goes_while_an_object_is_judged_gets_nothing_new(store: Store) -> None:
    world = World(store, [NamespaceLifecycle()])
    strategy = watched(world)
    loop = asyncio.get_running_loop()
    await world.create("namespaces", config("ns"))
    namespace = world.get("namespaces", "ns")
    namespace["status"] = {"phase": "Terminating"}

    async def terminate() -> None:
        row = store.get("namespaces", "ns")
        assert row is not None
        await store.update("namespaces", "ns", row.revision, lambda _: msgspec.json.encode(namespace))

    def meanwhile() -> None:
        asyncio.run_coroutine_threadsafe(terminate(), loop).result(10)

    strategy.meanwhile = meanwhile
    with pytest.raises(status.Forbidden) as refused:
        await world.create("configmaps", config("a", {"k": "x" * LARGE_BYTES}), size=LARGE_BYTES + 100)
    assert "unable to create new content in namespace ns because it is being terminated" in str(refused.value)
    assert await world.names("configmaps") == []


async def test_a_kind_that_goes_while_an_object_is_judged_gets_nothing_new(store: Store) -> None:
    world = World(store)
    strategy = watched(world)
    kind = msgspec.structs.replace(world.kind("configmaps"), custom=True)
    world.registry.add(kind)
    strategy.meanwhile = lambda: world.registry.remove(kind)
    call = world.call("configmaps", size=LARGE_BYTES + 1)
    body = {"apiVersion": "v1", "kind": "ConfigMap", **config("a", {"k": "v"})}
    with pytest.raises(status.Forbidden) as refused:
        await world.rest.create(call, body)
    assert str(refused.value).endswith("create not allowed while custom resource definition is terminating")
    assert store.list("configmaps") == []
