"""The parts of a resize one by one: waiting, tuning, and the file of generations."""

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.hotplug import nodes
from tests.engine.fakes import FakeClock

from flexlet.core.hotplug import saved
from flexlet.core.hotplug.plan import ResizePlan, plan
from flexlet.core.hotplug.saved import Saved
from flexlet.core.hotplug.steps import TuneContainer
from flexlet.core.machine.machine import Identity
from flexlet.engine.agent.resizing.book import Generations
from flexlet.engine.agent.resizing.tuning import Tuner
from flexlet.engine.agent.resizing.waiting import Patience
from flexlet.errors import HostError
from flexlet.testing.memory import MemoryCheckpoints

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

B = nodes.tenant("b", "500m,2Gi", ",4Gi")


class Asked:
    """A question that is answered with yes after so many times."""

    def __init__(self, times: int) -> None:
        self.times = times

    async def __call__(self) -> bool:
        self.times -= 1
        return self.times < 0


@pytest.mark.parametrize(
    ("times", "seconds", "answer", "waited"),
    [(0, 0.0, True, 0), (3, 1.0, True, 3), (99, 1.0, False, 10), (1, 0.0, False, 0)],
)
def test_a_wait_ends_when_it_holds_or_with_its_time(
    times: int, seconds: float, waited: int, *, answer: bool
) -> None:
    clock = FakeClock(0.0)
    assert asyncio.run(Patience(clock).until(Asked(times), seconds)) is answer
    assert len(clock.slept) == pytest.approx(waited, abs=1)


def test_a_newer_size_ends_a_wait() -> None:
    clock = FakeClock(0.0)
    patience = Patience(clock)
    patience.interrupted = lambda: len(clock.slept) >= 2
    assert asyncio.run(patience.until(Asked(99), 60.0)) is False
    assert len(clock.slept) == 2
    assert asyncio.run(patience.until(Asked(0), 60.0)) is True, "what holds already needs no wait"


class Scores:
    """Processes that have children while somebody looks."""

    def __init__(self, scores: dict[int, int], born: list[int] | None = None) -> None:
        self.scores = scores
        self.born = born or []
        self.writes = 0

    async def read(self, pids: Any) -> dict[int, int]:
        return {pid: self.scores[pid] for pid in pids}

    async def write(self, pids: Any, score: int) -> None:
        self.writes += 1
        for pid in list(pids):
            self.scores[pid] = score
        if self.born:
            self.scores[max(self.scores) + 1] = self.born.pop()


class Files:
    """One cgroup with the processes of `scores`."""

    def __init__(self, scores: Scores, *, exists: bool = True, refuses: bool = False) -> None:
        self._scores = scores
        self._exists = exists
        self._refuses = refuses
        self.files: dict[str, str] = {}

    async def exists(self, _: str) -> bool:
        return self._exists

    async def write(self, path: str, files: dict[str, str]) -> None:
        if self._refuses:
            raise HostError(f"cannot write to {path}")
        self.files |= files

    async def processes(self, _: str) -> list[int]:
        return list(self._scores.scores)


def tune(files: Files, scores: Scores, *before: int) -> str:
    step = TuneContainer(
        uid="b", container="c", container_id="x", files={"memory.high": "4096"}, oom_before=before, oom_after=500
    )
    return asyncio.run(Tuner(files, scores).tune(step, "kubepods/podb/x"))  # type: ignore[arg-type]


def test_only_scores_that_were_ours_are_replaced() -> None:
    scores = Scores({1: 750, 2: 999, 3: 875})
    files = Files(scores)
    assert tune(files, scores, 750, 875) == ""
    assert (scores.scores, files.files) == ({1: 500, 2: 999, 3: 500}, {"memory.high": "4096"})
    assert tune(files, scores) == ""
    assert scores.writes == 1, "nobody looks at processes if scores are left alone"


def test_children_that_inherit_the_old_score_are_caught_and_not_for_ever() -> None:
    scores = Scores({1: 750}, born=[750, 750])
    assert (tune(Files(scores), scores, 750), scores.scores) == ("", {1: 500, 2: 500, 3: 500})
    endless = Scores({1: 750}, born=[750] * 99)
    assert (tune(Files(endless), endless, 750), endless.writes) == ("", 5)


def test_trouble_is_told_and_a_container_that_is_gone_is_none() -> None:
    scores = Scores({1: 750})
    assert tune(Files(scores, refuses=True), scores, 750) == "cannot write to kubepods/podb/x"
    gone = Scores({})
    assert tune(Files(gone, exists=False, refuses=True), gone, 750) == ""


class Disk(MemoryCheckpoints):
    """Can be full."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False

    async def save(self, name: str, data: bytes) -> None:
        if self.is_full:
            raise HostError("No space left on device")
        await super().save(name, data)

    def kept(self) -> Saved:
        found = saved.parse(self.files[saved.FILE])
        assert isinstance(found, Saved)
        return found


async def opened(disk: Disk, memory: str = "8Gi", **more: Any) -> Generations:
    book = Generations(disk, FakeClock(5.0))
    await book.open(nodes.machine(memory=memory, **more), nodes.BOTH)
    return book


def planned(book: Generations, memory: str) -> ResizePlan:
    found = plan(book.before, nodes.machine(memory=memory), 1.0, nodes.situation(B), book.unfinished, book.tried)
    assert isinstance(found, ResizePlan)
    return found


def test_whatever_cannot_be_written_has_not_happened() -> None:
    """Begun, published, finished: each only counts once the disk has it."""

    async def tale() -> None:
        disk = Disk()
        book = await opened(disk)
        found = planned(book, "4Gi")
        deeds: tuple[Callable[[], Awaitable[None]], ...] = (
            lambda: book.attempt(found.generation.machine),
            lambda: book.publish(found, [B]),
            lambda: book.finish(forced=False),
        )
        seen = []
        for deed in deeds:
            disk.is_full = True
            with pytest.raises(HostError):
                await deed()
            disk.is_full = False
            seen.append((len(book.tried), book.current.number, book.unfinished is None))
            await deed()
            seen.append((len(book.tried), book.current.number, book.unfinished is None))
        assert seen == [
            *((0, 1, True), (1, 1, True)),
            *((1, 1, True), (1, 2, False)),
            *((1, 2, False), (0, 2, True)),
        ]
        assert disk.kept().generation == book.before

    asyncio.run(tale())


def test_the_next_agent_takes_up_where_this_one_stopped() -> None:
    async def tale() -> None:
        disk = Disk()
        book = await opened(disk)
        await book.attempt(nodes.machine(memory="4Gi"))
        assert (await opened(disk)).tried == (nodes.machine(memory="4Gi"),)
        await book.publish(planned(book, "4Gi"), [B])
        again = await opened(disk, "4Gi")
        assert (again.before, again.unfinished) == (book.before, book.unfinished)
        await again.finish(forced=True)
        assert ((await opened(disk, "4Gi")).unfinished, disk.kept().stories[-1].forced) == (None, True)

    asyncio.run(tale())


def test_a_machine_that_was_started_again_is_compared_until_everything_is_done() -> None:
    """Even if the agent dies twice on the way."""

    async def tale() -> None:
        disk = Disk()
        await opened(disk)
        for _ in range(3):
            book = await opened(disk, "4Gi", identity=Identity(boot_id="boot-2"))
            assert (book.before.number, book.current.number) == (1, 2)
        await book.finish(forced=False)
        book = await opened(disk, "4Gi", identity=Identity(boot_id="boot-2"))
        assert (book.before.number, book.unfinished) == (2, None)

    asyncio.run(tale())


def test_a_file_that_cannot_be_believed_is_kept_beside() -> None:
    async def tale() -> None:
        disk = Disk()
        disk.files[saved.FILE] = b"{"
        book = await opened(disk)
        assert (book.current.number, disk.files[f"{saved.FILE}.bad"], book.notes) == (1, b"{", ())

    asyncio.run(tale())
