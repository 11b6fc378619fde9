"""crd.jsonl: definitions and custom resources; a second definition and a held widget, made out of sight."""

from tests.apiserver.replay.stage import Stage, World

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OTHER = "widgets.other.rec.example.com"
WIDGETS = "/apis/rec.example.com/v1/namespaces/rec-crd/widgets"
WIDGET = {"apiVersion": "rec.example.com/v1", "kind": "Widget"}


async def _start(world: World) -> None:
    await world.namespace("rec-crd")


async def _other_group(world: World) -> None:
    await world.create(DEFINITIONS, world.recorded[12].response_body | {"status": {}, "metadata": {"name": OTHER}})


async def _no_other_group(world: World) -> None:
    await world.delete(f"{DEFINITIONS}/{OTHER}")


async def _held(world: World) -> None:
    metadata = {"name": "fin", "finalizers": ["rec.example.com/x"]}
    await world.create(WIDGETS, {**WIDGET, "metadata": metadata, "spec": {"size": "small"}})


async def _released(world: World) -> None:
    await world.merge(f"{WIDGETS}/fin", {"metadata": {"finalizers": None}})


STAGE = Stage(
    before={1: _start, 12: _other_group, 14: _no_other_group, 90: _held, 97: _released},
    patient=frozenset({10, 12, 13, 94, 97, 98, 100}),
)
