"""A new size becomes the node's own: one change of what decisions about pods go by."""

import asyncio

import msgspec

from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.hotplug.steps import Publish
from flexlet.core.resize.allocation import Allocation
from flexlet.engine.agent.loop import AgentLoop, Change


def published(step: Publish) -> Change:
    """Size, books and smaller balloons in one step; nothing is decided between them."""

    def change(world: World) -> World:
        setup = msgspec.structs.replace(
            world.setup,
            allocatable=step.view.allocatable,
            host=step.view.host,
            machine=step.generation.machine,
        )
        sized = msgspec.structs.replace(world, setup=setup, managers=step.managers, resizing=False)
        return sized.with_pods(_shrunk(world, step.allocations))

    return change


def _shrunk(world: World, allocations: dict[str, Allocation]) -> dict[str, PodRecord]:
    return {
        uid: msgspec.structs.replace(world.pods[uid], allocation=allocation)
        for uid, allocation in allocations.items()
        if uid in world.pods
    }


async def applied(loop: AgentLoop, change: Change) -> None:
    """Tell the loop of a change and wait until its world has it."""
    done = asyncio.Event()

    def last(world: World) -> World:
        done.set()
        return world

    loop.tell(change, last)
    await done.wait()
