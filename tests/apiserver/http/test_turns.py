"""Heavy requests take turns: few of one user, users one after the other, too many are refused."""

import asyncio

import pytest

from flexlet.api.status import ApiError, StatusDetails
from flexlet.apiserver.http.turns import Turns
from flexlet.apiserver.http.wire import Wire


class Work:
    """Requests that last until they are told to end; `begun` is the order in which they got their turns."""

    def __init__(self, wire: Wire) -> None:
        self.turns = Turns(wire)
        self.begun: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, *names: str) -> None:
        """Requests called `user number`, one after the other."""
        for name in names:
            self._ends[name] = asyncio.Event()
            self._tasks[name] = asyncio.create_task(self._run(name))
            await asyncio.sleep(0)

    async def end(self, *names: str) -> None:
        for name in names:
            self._ends[name].set()
            await self._tasks[name]
            await asyncio.sleep(0)

    async def end_while_another_gives_up(self, name: str, other: str) -> None:
        """One ends its turn after the other stopped waiting and before that one has left the queue."""
        self._ends[name].set()
        self._tasks[other].cancel()
        await self._tasks[name]
        with pytest.raises(asyncio.CancelledError):
            await self._tasks[other]

    async def outcome(self, name: str) -> int:
        """The code of a refusal."""
        with pytest.raises(ApiError) as caught:
            await self._tasks[name]
        assert caught.value.status.details == StatusDetails(retry_after_seconds=1)
        assert isinstance(caught.value.status.code, int)
        return caught.value.status.code

    async def _run(self, name: str) -> None:
        async with self.turns.turn(name.split(maxsplit=1)[0]):
            self.begun.append(name)
            await self._ends[name].wait()


async def test_users_take_turns_however_many_requests_one_of_them_has() -> None:
    work = Work(Wire(heavy=1, heavy_per_user=1))
    await work.come("a 1", "a 2", "a 3", "b 1", "c 1")
    for name in ("a 1", "a 2", "b 1", "c 1", "a 3"):
        await work.end(name)
    assert work.begun == ["a 1", "a 2", "b 1", "c 1", "a 3"]
    assert (work.turns.at_work, work.turns.waiting) == (0, 0)


async def test_one_user_does_not_take_all_places() -> None:
    work = Work(Wire(heavy=4, heavy_per_user=2))
    await work.come("a 1", "a 2", "a 3", "b 1")
    assert work.begun == ["a 1", "a 2", "b 1"]
    await work.end("a 1", "a 2", "b 1", "a 3")
    assert work.begun == ["a 1", "a 2", "b 1", "a 3"]


async def test_who_waits_with_too_many_is_refused_and_others_are_not() -> None:
    work = Work(Wire(heavy=2, heavy_per_user=1, heavy_waiting=1))
    await work.come("a 1", "a 2", "a 3", "b 1")
    assert await work.outcome("a 3") == 429
    assert (work.begun, work.turns.refused) == (["a 1", "b 1"], 1)
    await work.end("a 1", "b 1", "a 2")


async def test_who_waits_too_long_is_refused() -> None:
    work = Work(Wire(heavy=1, heavy_per_user=1, turn_s=0.02))
    await work.come("a 1", "a 2")
    assert await work.outcome("a 2") == 429
    assert work.turns.waiting == 0
    await work.end("a 1")


async def test_a_turn_does_not_last_for_ever() -> None:
    """Who reads an answer slowly keeps nobody else from theirs."""
    work = Work(Wire(heavy=1, heavy_per_user=1, hold_s=0.02))
    await work.come("a 1", "b 1")
    await asyncio.sleep(0.1)
    assert work.begun == ["a 1", "b 1"]
    await work.end("a 1", "b 1")
    assert work.turns.at_work == 0


async def test_who_has_just_given_up_is_not_called() -> None:
    """The turn goes to the next who waits, and none is lost."""
    work = Work(Wire(heavy=1, heavy_per_user=1))
    await work.come("a 1", "b 1", "b 2", "c 1")
    await work.end_while_another_gives_up("a 1", "b 1")
    await work.end("b 2", "c 1")
    assert work.begun == ["a 1", "b 2", "c 1"]
    assert (work.turns.at_work, work.turns.waiting) == (0, 0)


async def test_the_only_one_who_waits_gives_up_as_a_turn_ends() -> None:
    work = Work(Wire(heavy=1, heavy_per_user=1))
    await work.come("a 1", "b 1")
    await work.end_while_another_gives_up("a 1", "b 1")
    assert (work.turns.at_work, work.turns.waiting) == (0, 0)
    await work.come("c 1")
    await work.end("c 1")
    assert work.begun == ["a 1", "c 1"]
