"""errors.jsonl: one ConfigMap, a few pods, a node, and budgets just before they are needed."""

import json

from tests.apiserver.replay.stage import Body, Stage, World, pod

NAMESPACE = "/api/v1/namespaces/rec-errors"
BUDGETS = "/apis/policy/v1/namespaces/rec-errors/poddisruptionbudgets"
REC_EN = {
    f"kubernetes.io/{key}": value for key, value in (("arch", "amd64"), ("os", "linux"), ("hostname", "rec-en"))
}


async def _start(world: World) -> None:
    await world.namespace("rec-errors")
    await world.create(f"{NAMESPACE}/configmaps", {"metadata": {"name": "c"}})
    two = [{"name": name, "image": "x"} for name in "ab"]
    await world.create(f"{NAMESPACE}/pods", pod("p"))
    await world.create(f"{NAMESPACE}/pods", pod("two", containers=two))
    await world.create(f"{NAMESPACE}/pods", pod("gated", schedulingGates=[{"name": "g"}]))


async def _node(world: World) -> None:
    """The node, with the annotation its controller sets."""
    annotations = {"node.alpha.kubernetes.io/ttl": "0"}
    await world.create(
        "/api/v1/nodes", {"metadata": {"name": "rec-en", "labels": REC_EN, "annotations": annotations}}
    )


async def _budget(world: World) -> None:
    """A running pod and a budget that needs it, counted as its controller would."""
    evicted = pod("ev", nodeName="rec-en")
    labelled = {**evicted, "metadata": {"name": "ev", "labels": {"ev": "1"}}}
    await world.create(f"{NAMESPACE}/pods", labelled)
    ready = {"type": "Ready", "status": "True"}
    await world.merge(f"{NAMESPACE}/pods/ev/status", {"status": {"phase": "Running", "conditions": [ready]}})
    await world.create(BUDGETS, _needs_one("b"))
    status = {"observedGeneration": 1, "desiredHealthy": 1, "currentHealthy": 1, "expectedPods": 1}
    await world.merge(f"{BUDGETS}/b/status", {"status": {**status, "disruptionsAllowed": 0}})


async def _second_budget(world: World) -> None:
    await world.create(BUDGETS, _needs_one("b2"))


def _needs_one(name: str) -> Body:
    return {"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"ev": "1"}}}}


def _config_map(name: str, **parts: Body) -> bytes:
    return json.dumps({"metadata": {"name": name, **parts.pop("metadata", {})}, **parts}).encode()


DUPLICATES = (
    b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","foo":1},"bar":2,"data":{"a":"1","a":"2"}}'
)

STAGE = Stage(
    before={1: _start, 55: World.touch, 109: _node, 140: _budget, 141: _second_budget},
    bodies={
        18: DUPLICATES,
        19: DUPLICATES,
        77: _config_map("big", data={"a": "x" * (3 * 1024 * 1024 + 4096)}),
        78: _config_map("big", data={"a": "x" * (1024 * 1024 + 1)}),
        79: _config_map("ann", metadata={"annotations": {"a": "x" * (256 * 1024)}}),
    },
    tokens={33: "bad"},
    generated={"Bad_wtklb": "Bad_<rand>"},
)
