"""The in-process cluster gives what the wire gives, minus the wire."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.apiserver.rest.world import World

from flexlet.api import status
from flexlet.apiserver.local import LocalCluster
from flexlet.apiserver.rest.binding import Bindings
from flexlet.apiserver.store import Store
from flexlet.ports.cluster import NODES, PODS, Change, Cluster, Ref

MAPS = Ref("", "v1", "configmaps")
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    store = await Store.open(None)
    yield World(store)
    await store.close()


@pytest.fixture
def cluster(world: World) -> Cluster:
    world.rest.handlers["", "pods", "binding"] = Bindings(world.rest.backend).handle
    return LocalCluster(world.rest)


async def test_objects_carry_their_kind_everywhere(cluster: Cluster) -> None:
    created = await cluster.create(MAPS, "ns", {"metadata": {"name": "a"}})
    assert msgspec.json.decode(created)["kind"] == "ConfigMap"
    assert await cluster.get(MAPS, "ns", "a") == created
    listing = await cluster.list(MAPS)
    assert (listing.items, listing.resource_version) == ((created,), "1")


async def test_bodies_stay_the_callers(cluster: Cluster) -> None:
    """The pipeline fills objects in place; the caller's must not change under its hands."""
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    await cluster.create(PODS, "ns", body)
    assert body == POD


async def test_changes_follow_a_list_without_a_gap(cluster: Cluster) -> None:
    await cluster.create(NODES, "", {"metadata": {"name": "n"}})
    listing = await cluster.list(MAPS)
    created = await cluster.create(MAPS, "ns", {"metadata": {"name": "a"}})
    patched = await cluster.patch(MAPS, "ns", "a", {"data": {"k": "1"}})
    seen: list[Change] = []
    async for batch in cluster.watch(MAPS, listing.resource_version):
        seen += batch
        if len(seen) == 2:
            break
    assert seen == [Change("ADDED", created), Change("MODIFIED", patched)]


async def test_a_forgotten_version_is_gone(world: World, cluster: Cluster) -> None:
    for name in "abc":
        await cluster.create(MAPS, "ns", {"metadata": {"name": name}})
    await world.store.compact(3)
    with pytest.raises(status.Gone):
        async for _ in cluster.watch(MAPS, "1"):
            pass


async def test_an_abandoned_watch_leaves_nothing_behind(world: World, cluster: Cluster) -> None:
    async def follow() -> None:
        async for _ in cluster.watch(MAPS, "1"):
            pass

    task = asyncio.create_task(follow())
    await asyncio.sleep(0)
    assert world.store.statistics().watchers == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert world.store.statistics().watchers == 0


async def test_subresources_are_posted_patched_and_put(cluster: Cluster) -> None:
    await cluster.create(PODS, "ns", POD)
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    await cluster.create(PODS, "ns", binding, path="p/binding")
    await cluster.patch(PODS, "ns", "p", {"status": {"phase": "Running"}}, subresource="status")
    pod = msgspec.json.decode(await cluster.get(PODS, "ns", "p"))
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("n", "Running")
    pod["status"]["phase"] = "Succeeded"
    await cluster.update(PODS, "ns", "p", pod, subresource="status")
    await cluster.delete(PODS, "ns", "p", {"preconditions": {"uid": pod["metadata"]["uid"]}})
    with pytest.raises(status.NotFound):
        await cluster.get(PODS, "ns", "p")


async def test_what_is_not_served_is_not_found(cluster: Cluster) -> None:
    with pytest.raises(status.NotFound):
        await cluster.get(Ref("nope", "v1", "things"), "", "a")
    with pytest.raises(status.NotFound):
        await cluster.get(NODES, "", "none")
