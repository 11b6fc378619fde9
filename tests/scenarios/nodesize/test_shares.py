"""Scenario 19 of balloon.md §12: four agents on one host, and size that moves between them."""

import asyncio

import msgspec
from tests.scenarios.nodesize.world import Json, World, machine, world

from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB
from flexlet.core.nodesize import shares, sizes
from flexlet.core.nodesize.sizes import Amounts
from flexlet.ports import cluster as ports
from flexlet.testing.simtime import run

NODES = ("n1", "n2", "n3", "n4")
HOST = {"cpu": 64_000, "memory": 256 * GIB}
RESERVE = {"cpu": 4_000, "memory": 16 * GIB}
ALLOCATABLE = {"cpu": 63_000, "memory": 254 * GIB}


def spec(effective: Amounts) -> Json:
    amounts = {r: str(text) for r, text in sizes.listed(effective).items()}
    return {"target": {"effective": amounts}, "onInsufficient": "Fail"}


async def sized(stage: World) -> dict[str, tuple[Amounts, Amounts]]:
    """What each agent was asked for and what its node granted."""
    found = {}
    for node in NODES:
        (balloon,) = await stage.balloons(node)
        container, status = balloon["spec"]["containers"][0], balloon["status"]["containerStatuses"][0]
        asked, granted = container["resources"]["requests"], status["allocatedResources"]
        found[node] = sizes.less(ALLOCATABLE, _amounts(asked)), sizes.less(ALLOCATABLE, _amounts(granted))
    return found


def _amounts(found: Json) -> Amounts:
    return {"cpu": Quantity.parse(found["cpu"]).milli, "memory": Quantity.parse(found["memory"]).value}


async def watch_sum(stage: World, sums: list[Amounts]) -> None:
    """The sum of effective sizes after each change of a balloon."""
    listing = await stage.sim.cluster.list(ports.PODS)
    pods = {p["metadata"]["name"]: p for p in map(msgspec.json.decode, listing.items)}
    async for batch in stage.sim.cluster.watch(ports.PODS, listing.resource_version):
        for change in batch:
            pod = msgspec.json.decode(change.object)
            pods[pod["metadata"]["name"]] = pod
            held = [_amounts(p["status"]["containerStatuses"][0]["allocatedResources"]) for p in pods.values()]
            sums.append(sizes.total(sizes.less(ALLOCATABLE, amounts) for amounts in held))


def test_19_size_moves_without_anybody_having_too_much() -> None:
    async def story() -> None:
        async with world(machine(63, 254), nodes=NODES) as stage:
            stage.start_controller()
            each = shares.even(HOST, RESERVE, (1, 1, 1, 1))
            assert each == [{"cpu": 15_000, "memory": 60 * GIB}] * 4
            for node, share in zip(NODES, each, strict=True):
                await stage.apply(spec(share), node)
            await stage.settle(3)
            sums: list[Amounts] = []
            watching = asyncio.create_task(watch_sum(stage, sums))
            await stage.settle(0)
            moved = {"cpu": 5_000, "memory": 0}
            goal = {"n1": sizes.less(each[0], moved), "n2": sizes.total((each[1], moved))}
            steps = []
            for _ in range(100):
                step = shares.move(await sized(stage), "n1", "n2", goal)
                if step is not None:
                    steps.append((step.kind, step.agent, step.effective["cpu"]))
                    await stage.apply(spec(step.effective), step.agent)
                await stage.settle(0.05)
            watching.cancel()
            assert list(dict.fromkeys(steps)) == [("Inflate", "n1", 10_000), ("Deflate", "n2", 20_000)]
            assert {node: granted["cpu"] for node, (_, granted) in (await sized(stage)).items()} == {
                "n1": 10_000,
                "n2": 20_000,
                "n3": 15_000,
                "n4": 15_000,
            }
            assert max(total["cpu"] for total in sums) == 60_000

    run(story())
