import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.apiserver.rest.world import World, config, version

from flexlet.api import status
from flexlet.apiserver.rest import watching
from flexlet.apiserver.rest.listoptions import ListOptions
from flexlet.apiserver.store import Store

CLOSING = {"k8s.io/initial-events-end": "true"}


async def test_a_watch_goes_on_from_a_version(world: World) -> None:
    await world.create("configmaps", config("a"))
    watch = world.watch("configmaps", resource_version="1")
    await world.create("configmaps", config("b"))
    await world.patch("configmaps", "b", {"data": {"k": "1"}})
    await world.delete("configmaps", "b")
    assert await watch.take(3) == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "b")]
    await watch.close()


async def test_an_event_carries_the_whole_object_with_its_kind(world: World) -> None:
    watch = world.watch("configmaps", resource_version="0")
    created = await world.create("configmaps", config("a"))
    assert await watch.next() == ("ADDED", created)
    gone = await world.delete("configmaps", "a")
    kind, last = await watch.next()
    await watch.close()
    assert gone["status"] == "Success"
    assert (kind, version(last)) == ("DELETED", version(created) + 1)


@pytest.mark.parametrize("start", ["", "0"])
async def test_without_a_version_everything_comes_first(world: World, start: str) -> None:
    await world.create("configmaps", config("a"))
    await world.create("configmaps", config("b"))
    watch = world.watch("configmaps", resource_version=start)
    assert await watch.take(2) == [("ADDED", "a"), ("ADDED", "b")]
    await world.delete("configmaps", "a")
    assert await watch.take(1) == [("DELETED", "a")]
    await watch.close()


async def test_initial_events_end_with_a_bookmark(world: World) -> None:
    """A client waits for it before it believes what it saw."""
    await world.create("configmaps", config("a"))
    asked: dict[str, Any] = {"send_initial_events": True, "match": "NotOlderThan"}
    watch = world.watch("configmaps", allow_bookmarks=True, **asked)
    assert await watch.take(1) == [("ADDED", "a")]
    bookmark = {"resourceVersion": "1", "annotations": CLOSING}
    assert await watch.next() == (
        "BOOKMARK",
        {"kind": "ConfigMap", "apiVersion": "v1", "metadata": bookmark},
    )
    await watch.close()
    silent = world.watch("configmaps", **asked)
    assert await silent.take(1) == [("ADDED", "a")]
    await world.create("configmaps", config("b"))
    assert await silent.take(1) == [("ADDED", "b")]
    await silent.close()


async def test_initial_events_can_be_left_out(world: World) -> None:
    await world.create("configmaps", config("a"))
    watch = world.watch("configmaps", send_initial_events=False, match="NotOlderThan", resource_version="1")
    await world.create("configmaps", config("b"))
    assert await watch.take(1) == [("ADDED", "b")]
    await watch.close()


async def test_objects_enter_and_leave_a_selection(world: World) -> None:
    """An object that stops to match goes as it last matched, under the version of the change."""
    watch = world.watch("configmaps", label_selector="x=1", resource_version="0")
    await world.create("configmaps", config("s", labels={"x": "1"}))
    kind, entered = await watch.next()
    await world.patch("configmaps", "s", {"metadata": {"labels": {"x": "2"}}})
    left_kind, left = await watch.next()
    assert (kind, left_kind) == ("ADDED", "DELETED")
    assert left["metadata"].pop("resourceVersion") == "2"
    assert entered["metadata"].pop("resourceVersion") == "1"
    assert left == entered
    await world.patch("configmaps", "s", {"data": {"unseen": "1"}})
    await world.patch("configmaps", "s", {"metadata": {"labels": {"x": "1"}}})
    await world.patch("configmaps", "s", {"data": {"k": "1"}})
    await world.delete("configmaps", "s")
    assert await watch.take(3) == [("ADDED", "s"), ("MODIFIED", "s"), ("DELETED", "s")]
    await watch.close()


async def test_a_node_sees_its_pods_from_binding_to_the_end(world: World) -> None:
    await world.pod("other", node="m")
    watch = world.watch("pods", field_selector="spec.nodeName=n", resource_version="1")
    await world.pod("p", node="n")
    await world.delete("pods", "p")
    await world.delete("pods", "p", grace_period_seconds=0)
    seen = await watch.take(4)
    assert seen == [("ADDED", "p"), ("MODIFIED", "p"), ("MODIFIED", "p"), ("DELETED", "p")]
    await watch.close()


async def test_a_forgotten_version_is_an_error_inside_the_stream(world: World) -> None:
    for name in "abc":
        await world.create("configmaps", config(name))
    await world.store.compact(3)
    watch = world.watch("configmaps", resource_version="1")
    kind, found = await watch.next()
    assert (kind, found["code"], found["reason"]) == ("ERROR", 410, "Expired")
    assert found["message"] == "too old resource version: 1 (3)"
    with pytest.raises(StopAsyncIteration):
        await watch.next()


async def test_a_version_to_come_is_waited_for(world: World) -> None:
    watch = world.watch("configmaps", resource_version="2")
    task = asyncio.create_task(watch.next())
    for name in "abc":
        await world.create("configmaps", config(name))
    kind, found = await task
    assert (kind, found["metadata"]["name"]) == ("ADDED", "c")
    await watch.close()


async def test_a_version_that_is_none_is_refused_before_the_stream(world: World) -> None:
    with pytest.raises(status.ApiError) as error:
        world.watch("configmaps", resource_version="abc")
    assert (error.value.code, error.value.reason) == (500, "")


async def test_a_stream_ends_at_its_timeout_after_a_last_bookmark(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "LAST_BOOKMARK_S", 0.99)
    await world.create("nodes", config("elsewhere"))
    watch = world.watch("configmaps", resource_version="1", allow_bookmarks=True, timeout_seconds=1)
    kind, found = await watch.next()
    assert (kind, found["metadata"]) == ("BOOKMARK", {"resourceVersion": "1"})
    with pytest.raises(StopAsyncIteration):
        await watch.next()


async def test_a_slow_watcher_is_cut_off(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "QUEUE_SIZE", 2)
    await world.create("configmaps", config("old"))
    watch = world.watch("configmaps", resource_version="1")
    await world.create("configmaps", config("first"))
    assert await watch.take(1) == [("ADDED", "first")]
    for name in "abcd":
        await world.create("configmaps", config(name))
    with pytest.raises(StopAsyncIteration):
        await watch.next()


async def test_a_kind_that_is_taken_away_ends_its_watches(world: World) -> None:
    watch = world.watch("configmaps", resource_version="0")
    task = asyncio.create_task(watch.next())
    await asyncio.sleep(0)
    world.store.end_watches("configmaps")
    with pytest.raises(StopAsyncIteration):
        await task


async def test_both_event_groups_show_one_event_in_their_own_form(world: World) -> None:
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "ns", "name": "p"}, "message": "m"}
    await world.create("events", event)
    modern = world.get("events", "e", group="events.k8s.io")
    assert modern["apiVersion"] == "events.k8s.io/v1"
    assert (modern["note"], modern["regarding"]["name"]) == ("m", "p")
    kind = world.kind("events", "events.k8s.io")
    stream = world.rest.watch(kind, "ns", ListOptions(field_selector="regarding.name=p"))
    batch = await anext(stream.batches())
    assert b'"apiVersion":"events.k8s.io/v1"' in batch[0].value


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["create", "label", "unlabel", "touch", "delete"])),
        max_size=14,
    )
)
def test_a_watch_adds_up_to_the_list(steps: list[tuple[str, str]]) -> None:
    """Whatever happens, the events of a selection folded together are what a list of it shows."""

    async def run() -> tuple[dict[str, Any], dict[str, Any]]:
        store = await Store.open(None)
        world = World(store)
        watch = world.rest.watch(
            world.kind("configmaps"), "", ListOptions(label_selector="in", resource_version="0")
        )
        batches = watch.batches()
        for name, step in steps:
            await _do(world, name, step)
        await world.create("configmaps", config("zz", labels={"in": "1"}))
        seen: dict[str, Any] = {}
        while "zz" not in seen:
            for event in await anext(batches):
                obj = msgspec.json.decode(event.value)
                _fold(seen, event.type, obj)
        await batches.aclose()
        rows = await world.rest.list(world.kind("configmaps"), "", ListOptions(label_selector="in"))
        await store.close()
        listed = [msgspec.json.decode(row.value) for row in rows.rows]
        return seen, {obj["metadata"]["name"]: obj for obj in listed}

    seen, listed = asyncio.run(run())
    assert seen == listed


async def _do(world: World, name: str, step: str) -> None:
    try:
        if step == "create":
            await world.create("configmaps", config(name))
        elif step == "delete":
            await world.delete("configmaps", name)
        elif step == "touch":
            data = {"at": str(world.store.revision)}
            await world.patch("configmaps", name, {"data": data})
        else:
            labels = {"in": "1" if step == "label" else None}
            await world.patch("configmaps", name, {"metadata": {"labels": labels}})
    except (status.NotFound, status.AlreadyExists):
        pass


def _fold(seen: dict[str, Any], kind: str, obj: dict[str, Any]) -> None:
    name = obj["metadata"]["name"]
    if kind == "DELETED":
        del seen[name]
    else:
        assert (name in seen) is (kind == "MODIFIED")
        seen[name] = obj
