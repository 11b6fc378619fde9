"""crd.jsonl: a second definition of the same names, an object that will not go, and the end of a definition."""

import asyncio
from typing import Final

import msgspec
from tests.apiserver.replay.stage import PAUSE_S, Stage, World

DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS: Final = "/apis/rec.example.com/v1/namespaces/rec-crd/widgets"
DEFINITION: Final = 9
OTHER: Final = "other.rec.example.com"


async def _start(world: World) -> None:
    await world.namespace("rec-crd")


async def _same_names_elsewhere(world: World) -> None:
    body = msgspec.json.decode(msgspec.json.encode(world.recorded[DEFINITION].request_body))
    body["metadata"]["name"] = f"widgets.{OTHER}"
    body["spec"]["group"] = OTHER
    await world.create(DEFINITIONS, body)
    await world.settled(f"{DEFINITIONS}/widgets.{OTHER}", "Established")


async def _one_that_stays(world: World) -> None:
    metadata = {"name": "fin", "finalizers": ["rec.example.com/x"]}
    body = {"apiVersion": "rec.example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"size": "small"}}
    await world.create(WIDGETS, body)


async def _let_go(world: World) -> None:
    await world.merge(f"{WIDGETS}/fin", {"metadata": {"finalizers": None}})
    await world.delete(f"{DEFINITIONS}/widgets.{OTHER}")
    await asyncio.sleep(PAUSE_S)


STAGE: Final = Stage(
    before={1: _start, 12: _same_names_elsewhere, 14: World.touch, 90: _one_that_stays, 97: _let_go},
    patient=frozenset({10, 94, 97, 98}),
)
