"""clients.jsonl: a namespace and a custom resource; for kopf, a widget that comes, changes and is deleted."""

from typing import Any

from tests.apiserver.replay.stage import KUBE_SYSTEM, Stage, World

WIDGETS = "/apis/rec.example.com/v1/namespaces/rec-clients/widgets"
WIDGET = {"apiVersion": "rec.example.com/v1", "kind": "Widget"}


async def _start(world: World) -> None:
    await world.namespace("rec-clients")
    await world.widgets()


async def _widget(world: World) -> None:
    made = await world.create(WIDGETS, {**WIDGET, "metadata": {"name": "kw"}, "spec": {"size": "small"}})
    world.bindings.values["rv:37"] = made["metadata"]["resourceVersion"]


async def _grown(world: World) -> None:
    await world.merge(f"{WIDGETS}/kw", {"spec": {"size": "large"}})


async def _deleted(world: World) -> None:
    await world.delete(f"{WIDGETS}/kw")
    await world.seen(f"{WIDGETS}/kw", 45)


def _tested(version: str, change: Any) -> Any:
    return [{"op": "test", "path": "/metadata/resourceVersion", "value": version}, change]


ABOUT = {"apiVersion": "rec.example.com/v1", "kind": "Widget", "name": "kw", "uid": "<uid:18>"}
EVENT = {
    "metadata": {"namespace": "rec-clients", "generateName": "kopf-event-"},
    "action": "Action?",
    "type": "Normal",
    "reason": "Seen",
    "message": "hello",
    "reportingComponent": "kopf",
    "reportingInstance": "dev",
    "source": {"component": "kopf"},
    "involvedObject": {**ABOUT, "namespace": "rec-clients"},
    "firstTimestamp": "<time>",
    "lastTimestamp": "<time>",
    "eventTime": "<microtime>",
}
FINALIZERS = {"op": "add", "path": "/metadata/finalizers", "value": ["kopf.zalando.org/KopfFinalizerMarker"]}

STAGE = Stage(
    before={1: _start, 121: _widget, 125: _grown, 128: _deleted},
    late={83: 84, 99: 105, 120: 128},
    unordered=frozenset({1, 2, 3}),
    loose=frozenset({1000}),
    generated=KUBE_SYSTEM,
    # The recording kept the versions of these as they were, and cut their times.
    bodies={
        **dict.fromkeys((123, 126), EVENT),
        121: _tested("<rv:37>", FINALIZERS),
        128: _tested("<rv:45>", {"op": "remove", "path": "/metadata/finalizers"}),
    },
)
