"""tables.jsonl: one object or more of every kind, pods in every state; the objects are in tables.yaml."""

import json
import time
from pathlib import Path
from typing import Any

import yaml
from tests.apiserver.replay.stage import KUBE_SYSTEM, Stage, World

from flexlet.api import age

NAMESPACE = "/api/v1/namespaces/rec-tables"
AGO = {"2 minutes ago": 121, "20 seconds ago": 20, "30 seconds ago": 30}
OBJECTS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())


async def _start(world: World) -> None:
    await world.namespace("rec-tables")


async def _empty(world: World) -> None:
    await world.namespace("rec-empty")


async def _nodes(world: World) -> None:
    """The nodes of line 14, as they were before a controller gave them the old labels too."""
    for node in reversed(world.recorded[14].response_body["items"]):
        labels = {key: value for key, value in node["metadata"]["labels"].items() if "beta" not in key}
        young = {**node, "metadata": {**node["metadata"], "labels": labels}}
        await world.create("/api/v1/nodes", {"metadata": {"name": node["metadata"]["name"]}})
        await world.as_recorded(14, f"/api/v1/nodes/{node['metadata']['name']}", young)


async def _labelled_nodes(world: World) -> None:
    for node in world.recorded[14].response_body["items"]:
        await world.as_recorded(14, f"/api/v1/nodes/{node['metadata']['name']}", node)


async def _pods(world: World) -> None:
    for entry in OBJECTS["pods"]:
        path = f"{NAMESPACE}/pods/{entry['name']}"
        await world.create(f"{NAMESPACE}/pods", _pod(entry))
        if "status" in entry:
            await world.merge(f"{path}/status", {"status": _filled(world, entry["status"])})
        if entry.get("delete"):
            await world.delete(path)


async def _others(world: World) -> None:
    for entry in OBJECTS["others"]:
        await _put(world, entry)
    await world.widgets()
    for version in sorted(_versions(world) - {"<rv:91>", "<rv:92>"}):
        await _event(world, version)
    for entry in OBJECTS["widgets"]:
        await _put(world, entry)


async def _put(world: World, entry: dict[str, Any]) -> None:
    created = await world.create(entry["path"], _filled(world, entry["body"]))
    path = f"{entry['path']}/{created['metadata']['name']}"
    if "status" in entry:
        change = {
            "metadata": {"annotations": entry.get("annotations", {})},
            "status": _filled(world, entry["status"]),
        }
        await world.merge(f"{path}/status", change)
    if "approval" in entry:
        condition = {"type": entry["approval"], "status": "True", "reason": "r", "message": "m"}
        await world.merge(f"{path}/approval", {"status": {"conditions": [condition]}})
    if "uid" in entry:
        present = (await world.do("GET", path))["metadata"]
        first, last = entry["versions"]
        values = {f"rv:{first}": created["metadata"]["resourceVersion"], f"rv:{last}": present["resourceVersion"]}
        world.bindings.values.update({f"uid:{entry['uid']}": present["uid"], **values})


def _versions(world: World) -> set[str]:
    return {event["metadata"]["resourceVersion"] for event in world.recorded[47].response_body["items"]}


async def _event(world: World, version: str) -> None:
    """An event of a controller; its name keeps the recorded order."""
    for index, event in enumerate(world.recorded[47].response_body["items"]):
        if event["metadata"]["resourceVersion"] == version:
            name = event["metadata"]["name"].replace("<evt>", f"{index:016x}")
            await world.create(f"{NAMESPACE}/events", _filled(world, {**event, "metadata": {"name": name}}))


async def _config_map_comes_and_goes(world: World) -> None:
    path = f"{NAMESPACE}/configmaps"
    await world.create(path, {"metadata": {"name": "cm-w"}, "data": {"a": "1"}})
    await world.merge(f"{path}/cm-w", {"data": {"b": "2"}})
    await world.delete(f"{path}/cm-w")


async def _unlimited(world: World) -> None:
    """No quota any more, whose counting would move the version that bookmarks tell."""
    await world.delete(f"{NAMESPACE}/resourcequotas/rq")


async def _creating_runs(world: World) -> None:
    container = {
        "name": "c",
        "ready": True,
        "restartCount": 0,
        "image": "",
        "imageID": "",
        "state": {"running": {}},
    }
    await world.merge(
        f"{NAMESPACE}/pods/creating/status", {"status": {"phase": "Running", "containerStatuses": [container]}}
    )


def _pod(entry: dict[str, Any]) -> dict[str, Any]:
    requests = {} if "containers" in entry else {"resources": {"requests": {"cpu": "100m"}}}
    containers = [{"name": name, "image": "busybox:1", **requests} for name in entry.get("containers", ["c"])]
    first = [{"name": name, "image": "busybox:1"} for name in entry.get("init", ())]
    first += [
        {"name": name, "image": "busybox:1", "restartPolicy": "Always"} for name in entry.get("sidecars", ())
    ]
    spec = {
        "automountServiceAccountToken": False,
        "containers": containers,
        "initContainers": first,
        **entry.get("spec", {"nodeName": "rec-node-1"}),
    }
    return {"metadata": {"name": entry["name"], "labels": {"app": "t"}, **entry.get("metadata", {})}, "spec": spec}


def _filled(world: World, value: Any) -> Any:
    text = json.dumps(value)
    for words, seconds in AGO.items():
        text = text.replace(words, age.format_seconds(time.time() - seconds))
    return json.loads(world.bindings.fill(text))


STAGE = Stage(
    before={
        1: _start,
        7: _empty,
        10: _nodes,
        11: _labelled_nodes,
        15: _pods,
        23: _others,
        29: lambda world: _event(world, "<rv:91>"),
        44: lambda world: _event(world, "<rv:92>"),
        62: World.touch,
        72: World.touch,
        76: _unlimited,
    },
    during={
        71: _config_map_comes_and_goes,
        73: _config_map_comes_and_goes,
        75: _creating_runs,
        76: _config_map_comes_and_goes,
    },
    # What was made out of sight was made in another order.
    unordered=frozenset(range(1, 96)),
    loose=frozenset({8, 11, 1000}),
    generated={
        **KUBE_SYSTEM,
        '"5 (20s ago)"': '"5 (<age> ago)"',
        '"5 (21s ago)"': '"5 (<age> ago)"',
        '"3 (2m ago)"': '"3 (<age> ago)"',
        '"3 (2m1s ago)"': '"3 (<age> ago)"',
        '"5 (30s ago)"': '"5 (<age> ago)"',
        '"33s"': '"<age>"',
        '"35s"': '"<age>"',
    },
)
