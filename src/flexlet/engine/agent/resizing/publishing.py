"""A new size becomes the node's own: one change of what decisions about pods go by."""

import asyncio
from collections.abc import Callable

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.hotplug.steps import Publish
from flexlet.core.machine.allocatable import capped
from flexlet.core.resize.allocation import Allocation
from flexlet.engine.agent.loop import AgentLoop, Change, replaced


def published(step: Publish) -> Change:
    """Size, books and smaller balloons in one step; nothing is decided between them."""

    def change(world: World) -> World:
        setup = msgspec.structs.replace(
            world.setup,
            allocatable=capped(step.view.allocatable, world.setup.ceiling),
            host=step.view.host,
            machine=step.generation.machine,
        )
        sized = msgspec.structs.replace(world, setup=setup, managers=step.managers, resizing=False)
        return sized.with_pods(_shrunk(world, step.allocations))

    return change


def offered(ceiling: ResourceList, whole: Callable[[World], ResourceList]) -> Change:
    """Pods get at most this much from now on; `whole` is what they would get else."""

    def change(world: World) -> World:
        if ceiling == world.setup.ceiling:
            return world
        return replaced(ceiling=ceiling, allocatable=capped(whole(world), ceiling))(world)

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
