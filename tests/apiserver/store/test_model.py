"""The store against a plain dict, through random lives with races, compaction and restarts."""

import asyncio
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Literal, NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from flexlet.apiserver.store import Compacted, Event, KeyExists, Options, Page, RevisionMismatch, Row, Store

BUCKETS = ("pods", "nodes")


class Action(NamedTuple):
    """One attempt to write; `stale` expects a revision that is not the newest."""

    verb: Literal["create", "update", "delete"]
    bucket: str
    key: str
    stale: bool


ACTIONS = st.builds(
    Action,
    st.sampled_from(["create", "create", "update", "delete"]),
    st.sampled_from(BUCKETS),
    st.sampled_from(["a/p", "a/q", "b/p", "b-c/p"]),
    st.booleans(),
)


def plain(revision: int) -> bytes:
    return b"v%d" % revision


class Model:
    """What a strictly serial store would do: `states[r]` is what it held at revision r."""

    def __init__(self) -> None:
        self.states: list[dict[tuple[str, str], Row]] = [{}]
        self.events: list[tuple[str, Event]] = []

    @property
    def revision(self) -> int:
        """The newest revision."""
        return len(self.states) - 1

    def expected_revision(self, action: Action) -> int:
        """What a writer who has seen everything, or all but the last change, would expect."""
        row = self.states[-1].get((action.bucket, action.key))
        return (row.revision if row else 1) - action.stale

    def write(self, action: Action) -> Row | type[Exception]:
        """Answer as the store must, and change as it must."""
        place = (action.bucket, action.key)
        previous = self.states[-1].get(place)
        if action.verb == "create" and previous is not None:
            return KeyExists
        if action.verb != "create" and (previous is None or action.stale):
            return RevisionMismatch
        row = Row(action.key, self.revision + 1, plain(self.revision + 1))
        state = self.states[-1] | {place: row}
        if action.verb == "delete":
            del state[place]
        self.states.append(state)
        event_type: Any = {"create": "ADDED", "update": "MODIFIED", "delete": "DELETED"}[action.verb]
        self.events.append((action.bucket, Event(event_type, row, previous)))
        return row

    def rows(self, bucket: str, revision: int) -> list[Row]:
        """A bucket in key order, as of a revision."""
        state = self.states[revision]
        return [state[place] for place in sorted(state) if place[0] == bucket]


class StoreLife(RuleBasedStateMachine):
    """A store and its model, kept side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.model = Model()
        self.floor = 0

    @initialize()
    def open(self) -> None:
        """Start on an empty folder, or again on what the last store left there."""
        options = Options(synchronous="OFF", lock_timeout_s=0.0)
        self.store = self.runner.run(Store.open(Path(self.folder.name) / "data.db", options))

    @rule(actions=st.lists(ACTIONS, min_size=1, max_size=6))
    def write_together(self, actions: list[Action]) -> None:
        """Writes submitted in one go end as if they had been made one after the other."""
        attempts, expected = [], []
        for action in actions:
            attempts.append(self._attempt(action))
            expected.append(self.model.write(action))
        outcomes = self.runner.run(self._together(attempts))
        assert [type(got) if isinstance(got, Exception) else got for got in outcomes] == expected

    def _attempt(self, action: Action) -> Coroutine[Any, Any, Row]:
        if action.verb == "create":
            return self.store.create(action.bucket, action.key, plain)
        write = self.store.update if action.verb == "update" else self.store.delete
        return write(action.bucket, action.key, self.model.expected_revision(action), plain)

    @staticmethod
    async def _together(attempts: list[Coroutine[Any, Any, Row]]) -> list[Row | BaseException]:
        return await asyncio.gather(*attempts, return_exceptions=True)

    @rule(back=st.integers(0, 5))
    def compact(self, back: int) -> None:
        """Forgetting the past leaves the present alone."""
        revision = max(0, self.model.revision - back)
        self.floor = max(self.floor, revision)
        self.runner.run(self.store.compact(revision))

    @rule()
    def reopen(self) -> None:
        """A restart changes nothing that can be seen."""
        self.runner.run(self.store.close())
        self.open()

    @rule(back=st.integers(0, 8), bucket=st.sampled_from(BUCKETS), prefix=st.sampled_from(["", "a/", "b"]))
    def watch_from_the_past(self, back: int, bucket: str, prefix: str) -> None:
        """A watch replays exactly the events after its revision, or is gone."""
        after = max(0, self.model.revision - back)
        replayed = self.runner.run(self._replayed(bucket, prefix, after))
        wanted = [
            event
            for place, event in self.model.events[after:]
            if place == bucket and event.row.key.startswith(prefix)
        ]
        assert replayed == (wanted if after >= self.floor else None)

    async def _replayed(self, bucket: str, prefix: str, after: int) -> list[Event] | None:
        try:
            watcher = self.store.watch(bucket, prefix, after_revision=after)
        except Compacted:
            return None
        watcher.end()
        return await watcher.batch()

    @rule(
        back=st.integers(0, 8),
        bucket=st.sampled_from(BUCKETS),
        after_key=st.sampled_from(["", "a/p", "b-c/p", "b/z"]),
        limit=st.sampled_from([None, 1, 2]),
    )
    def page_of_the_past(self, back: int, bucket: str, after_key: str, limit: int | None) -> None:
        """A page of an old revision shows the rows of that revision, or is gone."""
        revision = max(0, self.model.revision - back)
        rows = [row for row in self.model.rows(bucket, revision) if row.key > after_key]
        chosen = rows[:limit]
        try:
            page = self.store.page(bucket, after_key=after_key, limit=limit, at_revision=revision)
        except Compacted:
            assert revision < self.floor
        else:
            assert page == Page(rows=chosen, revision=revision, remaining=len(rows) - len(chosen))
            assert revision >= self.floor

    @invariant()
    def reads_equal_the_model(self) -> None:
        """Committed state is the model's newest state."""
        if not hasattr(self, "store"):
            return
        assert self.store.revision == self.model.revision
        for bucket in BUCKETS:
            assert self.store.list(bucket) == self.model.rows(bucket, self.model.revision)

    def teardown(self) -> None:
        """Leave no thread and no file behind."""
        if hasattr(self, "store"):
            self.runner.run(self.store.close())
        self.runner.close()
        self.folder.cleanup()


TestStoreLife = StoreLife.TestCase
TestStoreLife.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
