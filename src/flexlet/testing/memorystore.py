"""The API server's store without disk and without its thread, so that a write is durable in the same turn."""

import asyncio
from collections.abc import Callable
from typing import Any

from flexlet.apiserver.store.database import Database
from flexlet.apiserver.store.replay import Loaded
from flexlet.apiserver.store.store import Options, Store
from flexlet.apiserver.store.writer import Compaction, Job, Reports, Writer
from flexlet.apiserver.store.writes import Write

_FOR_EVER = Options(history_events=10_000_000, history_seconds=float("inf"))


class MemoryStore(Store):
    """Everything a Store is, in memory; history is never forgotten."""

    def __init__(self, loaded: Loaded, options: Options, clock: Callable[[], float]) -> None:
        super().__init__(loaded, options, clock)
        self._writer = _Writer(loaded.database, asyncio.get_running_loop(), self)

    @classmethod
    async def empty(cls) -> "MemoryStore":
        """A store with nothing in it."""
        loaded = Loaded(Database.open(None, "OFF", 0.0), {}, 0)
        return cls(loaded, _FOR_EVER, asyncio.get_running_loop().time)

    async def close(self) -> None:
        """End the watchers."""
        self._hub.end_all()


class _Writer(Writer):
    """Answers from the loop itself: in order, after whoever submitted the write has gone on."""

    def __init__(self, database: Database, loop: asyncio.AbstractEventLoop, reports: Reports) -> None:
        super().__init__(database, loop, reports)
        database.close()

    def start(self) -> None:
        """There is no thread."""

    def put(self, item: Write | Compaction | Job) -> None:
        """Have it written."""
        if isinstance(item, Write):
            self._answer_soon(self._reports.committed, [item], 0.0)
        elif item.done is not None:
            self._answer_soon(item.done.set_result, None)

    def _answer_soon(self, answer: Callable[..., Any], *arguments: Any) -> None:
        self._loop.call_soon(answer, *arguments)
