"""One machine that nobody can handle keeps no other waiting."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from flexlet.core.faults import Faults
from flexlet.core.nodesize.hardware import Deed
from flexlet.core.nodesize.scene import Measured
from flexlet.engine.nodesize.keeper import LOOP, MachineKeeper
from flexlet.errors import HypervisorGone
from flexlet.ports.machineend import MachineEnd, MachineSize
from flexlet.testing.simtime import SimClock, idle, run

SIZE = MachineSize(2, 4, modules=())


class FakeDecider:
    """Asks for deeds, again when a machine was lost, and writes down what it learns."""

    def __init__(self) -> None:
        self.on_deed: Callable[[], None] = lambda: None
        self.deeds = [Deed("bad", "bad"), Deed("good", "good")]
        self.learned: list[tuple[str, Measured]] = []
        self.lost: list[tuple[str, float]] = []

    def take_deeds(self) -> list[Deed]:
        taken, self.deeds = self.deeds, []
        return taken

    def learn_machine(self, node: str, measured: Measured) -> None:
        self.learned.append((node, measured))

    def lost_machine(self, node: str) -> None:
        self.lost.append((node, asyncio.get_running_loop().time()))
        self.deeds.append(Deed(node, node))
        self.on_deed()


class FakeEnd:
    """A machine that answers, or raises."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    async def measure(self) -> MachineSize:
        if self.error is not None:
            raise self.error
        return SIZE


@pytest.mark.parametrize(
    ("error", "moments", "count"),
    [
        (HypervisorGone("nobody answers"), [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60], 0),
        (KeyError("arch"), [5, 10, 15, 23, 39], 6),
    ],
)
def test_a_machine_that_fails_is_asked_again_later(error: Exception, moments: list[int], count: int) -> None:
    """Ever later where nobody foresaw the fault, which is counted; the other machine is sized at once."""
    faults, decider, troubles = Faults(), FakeDecider(), {"bad": error}

    @asynccontextmanager
    async def opening(name: str) -> AsyncIterator[MachineEnd]:
        yield cast("MachineEnd", FakeEnd(troubles.get(name)))

    async def story() -> None:
        clock = SimClock()
        keeper = MachineKeeper(cast("Any", decider), opening, clock, lambda: None, faults)
        task: asyncio.Task[Any] = asyncio.create_task(keeper.run())
        await idle()
        assert [node for node, _ in decider.learned] == ["good"]
        await clock.sleep(62)
        assert decider.lost == [("bad", moment) for moment in moments]
        assert (faults.count(LOOP), faults.held(LOOP)) == (count, frozenset({"bad"} if count else ()))
        troubles.clear()
        await clock.sleep(60)
        assert [node for node, _ in decider.learned] == ["good", "bad"]
        assert faults.held(LOOP) == frozenset()
        task.cancel()

    run(story())
