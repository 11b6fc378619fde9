"""Programs on the node hear of each of its sizes, the latest at least."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
from tests.engine.agent.world import World, world

from flexlet.api.units import GIB
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.engine.agent.resizing.noticing import Noticing
from flexlet.errors import HostError
from flexlet.testing import NodeOptions, run
from flexlet.testing.host import SimHost

Json = dict[str, Any]


def options() -> NodeOptions:
    return NodeOptions(hardware=SimHost("0-1", 4 * GIB), resize=ResizeSettings(plug=True, unplug=True))


class Board:
    """Who listens, and a disk that may be full."""

    def __init__(self) -> None:
        self.told: list[Json] = []
        self.full = False
        self.deaf = False

    async def tell(self, line: bytes) -> None:
        if self.full:
            raise HostError("no space left")
        self.told.append(msgspec.json.decode(line))

    async def serve(self) -> None:
        if self.deaf:
            raise HostError("no sockets here")
        await asyncio.Event().wait()

    @property
    def numbers(self) -> list[tuple[int, str]]:
        return [(each["generation"], each["capacity"]["cpu"]) for each in self.told]


def noticing(there: World, board: Board) -> asyncio.Task[None]:
    agent = there.node.agent
    assert agent is not None
    duty = Noticing("node-a", agent.following, board, there.cluster.clock)
    return asyncio.create_task(duty.run())


def test_every_size_is_told(tmp_path: Path) -> None:
    async def story() -> list[tuple[int, str]]:
        async with world(tmp_path, options()) as there:
            task = noticing(there, board := Board())
            there.node.host.plug_cpus(2)
            await asyncio.sleep(5)
            there.node.host.unplug_cpus(1)
            await asyncio.sleep(5)
            task.cancel()
            return board.numbers

    assert run(story()) == [(2, "4"), (3, "3")]


def test_trouble_is_tried_again_with_what_counts_then(tmp_path: Path) -> None:
    """And whoever cannot listen finds it in the file all the same."""

    async def story() -> list[tuple[int, str]]:
        async with world(tmp_path, options()) as there:
            board = Board()
            board.full = board.deaf = True
            task = noticing(there, board)
            there.node.host.plug_cpus(2)
            await asyncio.sleep(5)
            there.node.host.plug_cpus(2)
            await asyncio.sleep(2)
            board.full = False
            await asyncio.sleep(10)
            task.cancel()
            return board.numbers

    assert run(story()) == [(3, "6")]
