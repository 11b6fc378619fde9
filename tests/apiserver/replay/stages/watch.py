"""watch.jsonl: what others wrote while a watch was open, and history cut off behind its back."""

import asyncio
from typing import Any, Final

from tests.apiserver.replay.stage import Stage, World, pod

NAMESPACE = "/api/v1/namespaces/rec-watch"
CONFIG_MAPS = f"{NAMESPACE}/configmaps"
BETWEEN_BOOKMARKS_S: Final = 2.4
WIDGETS = "/apis/rec.example.com/v1/namespaces/rec-watch/widgets"


async def _start(world: World) -> None:
    await world.namespace("rec-watch")


async def _a_comes_and_goes(world: World) -> None:
    await world.create(CONFIG_MAPS, {"metadata": {"name": "a", "labels": {"x": "1"}}, "data": {"k": "1"}})
    await world.merge(f"{CONFIG_MAPS}/a", {"data": {"k": "2"}})
    await world.delete(f"{CONFIG_MAPS}/a")


async def _a_and_then_more(world: World) -> None:
    """Between two bookmarks something else is written."""
    await _a_comes_and_goes(world)
    await asyncio.sleep(BETWEEN_BOOKMARKS_S)
    await world.touch()


async def _s_changes_its_label(world: World) -> None:
    await world.create(CONFIG_MAPS, {"metadata": {"name": "s", "labels": {"x": "1"}}})
    for change in (_label("2"), {"data": {"k": "1"}}, _label("1"), {"data": {"k": "2"}}):
        await world.merge(f"{CONFIG_MAPS}/s", change)
    await world.delete(f"{CONFIG_MAPS}/s")


def _label(value: str) -> Any:
    return {"metadata": {"labels": {"x": value}}}


async def _pod_lives(world: World) -> None:
    await world.create(f"{NAMESPACE}/pods", pod("p"))
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "rec-none"}}
    await world.create(f"{NAMESPACE}/pods/p/binding", binding)
    for phase in ("Running", "Succeeded"):
        await world.merge(f"{NAMESPACE}/pods/p/status", {"status": {"phase": phase}})
    await world.delete(f"{NAMESPACE}/pods/p")


async def _event_counts(world: World) -> None:
    about = {"kind": "Pod", "namespace": "rec-watch", "name": "p"}
    event = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "R", "type": "Normal", "count": 1}
    await world.create(f"{NAMESPACE}/events", event)
    await world.merge(f"{NAMESPACE}/events/e", {"count": 2})
    await world.delete(f"{NAMESPACE}/events/e")


async def _finalized(world: World) -> None:
    await world.create(CONFIG_MAPS, {"metadata": {"name": "f", "finalizers": ["rec.example.com/x"]}})
    await world.delete(f"{CONFIG_MAPS}/f")
    await world.merge(f"{CONFIG_MAPS}/f", {"metadata": {"finalizers": None}})


async def _nothing_changes(world: World) -> None:
    await world.create(CONFIG_MAPS, {"metadata": {"name": "n"}, "data": {"k": "1"}})
    await world.merge(f"{CONFIG_MAPS}/n", {"data": {"k": "1"}})
    await world.delete(f"{CONFIG_MAPS}/n")


async def _definition(world: World) -> None:
    await world.widgets()
    await _seen_version(world, 62)


async def _widget_lives(world: World) -> None:
    kind = {"apiVersion": "rec.example.com/v1", "kind": "Widget"}
    await world.create(WIDGETS, {**kind, "metadata": {"name": "w"}, "spec": {"size": "small"}})
    await world.merge(f"{WIDGETS}/w", {"spec": {"size": "large"}})
    await world.merge(f"{WIDGETS}/w/status", {"status": {"replicas": 1}})
    await world.delete(f"{WIDGETS}/w")


async def _seen_version(world: World, number: int) -> None:
    """A version that the recorder read somewhere."""
    await world.touch()
    await world.seen(CONFIG_MAPS, number)


async def _page_of_one(world: World) -> None:
    listed = await world.do("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles?limit=1")
    world.bindings.values["continue:1"] = listed["metadata"]["continue"]


async def _many(world: World) -> None:
    for number in range(6):
        await world.create(CONFIG_MAPS, {"metadata": {"name": f"z{number}"}})


async def _new(world: World) -> None:
    await world.create(CONFIG_MAPS, {"metadata": {"name": "a-new"}})


async def _compact(world: World) -> None:
    """Only the newest version can be read from now on."""
    await world.delete(f"{CONFIG_MAPS}/z5")
    await _seen_version(world, 77)
    await world.server.rest.backend.store.compact(int(world.bindings.values["rv:77"]))


STAGE = Stage(
    before={
        1: _start,
        24: _page_of_one,
        26: World.touch,
        37: lambda world: _seen_version(world, 41),
        38: lambda world: _seen_version(world, 46),
        39: lambda world: _seen_version(world, 49),
        42: lambda world: _seen_version(world, 59),
        43: _definition,
        44: lambda world: _seen_version(world, 67),
        46: lambda world: _seen_version(world, 71),
        49: _many,
        50: _new,
        53: _compact,
        56: World.touch,
    },
    during={
        **dict.fromkeys((2, 4, 5, 7), _a_comes_and_goes),
        6: _a_and_then_more,
        **dict.fromkeys((32, 33, 35), _s_changes_its_label),
        **dict.fromkeys((36, 37, 38), _pod_lives),
        **dict.fromkeys((39, 40), _event_counts),
        41: _finalized,
        42: _nothing_changes,
        **dict.fromkeys((43, 44), _widget_lives),
    },
    loose=frozenset({1000}),
    generated={"current: <rv>": "current: <rv:1000>"},
)
