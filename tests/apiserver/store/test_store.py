"""Reads, writes and their races, through the public face of the store."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from flexlet.apiserver.store import (
    Event,
    KeyExists,
    Options,
    Page,
    RevisionMismatch,
    Row,
    Statistics,
    Store,
    StoreBusy,
    StoreClosed,
)


def text(content: str) -> Callable[[int], bytes]:
    return lambda revision: f"{content}@{revision}".encode()


async def test_a_created_row_carries_its_revision(store: Store) -> None:
    """The encoder is given the revision the row is going to have."""
    row = await store.create("pods", "default/web", text("a"))
    assert row == Row("default/web", 1, b"a@1")
    assert (store.get("pods", "default/web"), store.revision) == (row, 1)


async def test_reading_what_is_not_there(store: Store) -> None:
    assert store.get("pods", "default/web") is None
    assert store.list("pods") == []
    assert store.page("pods") == Page(rows=[], revision=0, remaining=0)


async def test_buckets_are_apart_but_share_the_revision(store: Store) -> None:
    await store.create("pods", "default/web", text("pod"))
    await store.create("nodes", "default/web", text("node"))
    assert store.list("pods") == [Row("default/web", 1, b"pod@1")]
    assert store.list("nodes") == [Row("default/web", 2, b"node@2")]


async def test_list_is_in_key_order_below_a_prefix(store: Store) -> None:
    """Keys sort as bytes do in etcd: `-` comes before `/`."""
    for key in ("b/x", "a/z", "a-b/y", "a/a", "aa/q"):
        await store.create("pods", key, text(key))
    assert [row.key for row in store.list("pods")] == ["a-b/y", "a/a", "a/z", "aa/q", "b/x"]
    assert [row.key for row in store.list("pods", "a/")] == ["a/a", "a/z"]


async def test_of_two_creates_of_one_key_one_wins(store: Store) -> None:
    """The race is decided at submission; the loser hears of it when the winner is durable."""
    outcomes = await asyncio.gather(
        store.create("pods", "p", text("first")), store.create("pods", "p", text("second")), return_exceptions=True
    )
    assert outcomes[0] == Row("p", 1, b"first@1")
    assert isinstance(outcomes[1], KeyExists)
    assert (store.revision, store.list("pods")) == (1, [Row("p", 1, b"first@1")])


async def test_loser_of_an_update_race_is_shown_the_winner(store: Store) -> None:
    """After RevisionMismatch a retry reads the row it lost against."""
    await store.create("pods", "p", text("a"))

    async def lose() -> Row | None:
        with pytest.raises(RevisionMismatch) as caught:
            await store.update("pods", "p", 1, text("second"))
        assert caught.value.current == store.get("pods", "p")
        return caught.value.current

    won, shown = await asyncio.gather(store.update("pods", "p", 1, text("first")), lose())
    assert won == shown == Row("p", 2, b"first@2")


async def test_update_of_a_missing_key_shows_nothing(store: Store) -> None:
    with pytest.raises(RevisionMismatch) as caught:
        await store.update("pods", "p", 3, text("a"))
    assert (caught.value.expected, caught.value.current) == (3, None)


async def test_writes_may_be_chained_before_any_is_committed(store: Store) -> None:
    """Compare-and-swap looks at the newest submitted row, not at the newest committed one."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(store.create("pods", "p", text("a"))),
            group.create_task(store.update("pods", "p", 1, text("b"))),
            group.create_task(store.delete("pods", "p", 2, text("c"))),
            group.create_task(store.create("pods", "p", text("d"))),
        ]
        await asyncio.sleep(0)
        assert (store.head("pods", "p"), store.get("pods", "p")) == (Row("p", 4, b"d@4"), None)
    assert [task.result() for task in tasks] == [
        Row("p", 1, b"a@1"),
        Row("p", 2, b"b@2"),
        Row("p", 3, b"c@3"),
        Row("p", 4, b"d@4"),
    ]
    assert store.head("pods", "p") == store.get("pods", "p") == Row("p", 4, b"d@4")


async def test_a_row_being_deleted_cannot_be_updated(store: Store) -> None:
    await store.create("pods", "p", text("a"))
    deleted, refused = await asyncio.gather(
        store.delete("pods", "p", 1, text("gone")), store.update("pods", "p", 1, text("b")), return_exceptions=True
    )
    assert deleted == Row("p", 2, b"gone@2")
    assert isinstance(refused, RevisionMismatch)
    assert (refused.current, store.list("pods")) == (None, [])


async def test_a_failing_encoder_changes_nothing(store: Store) -> None:
    def broken(revision: int) -> bytes:
        raise LookupError(revision)

    with pytest.raises(LookupError):
        await store.create("pods", "p", broken)
    assert await store.create("pods", "p", text("a")) == Row("p", 1, b"a@1")


async def test_cancelling_the_caller_does_not_take_the_write_back(store: Store) -> None:
    task = asyncio.create_task(store.create("pods", "p", text("a")))
    await asyncio.sleep(0)
    task.cancel()
    await store.create("pods", "q", text("b"))
    assert task.cancelled()
    assert store.list("pods") == [Row("p", 1, b"a@1"), Row("q", 2, b"b@2")]


async def test_watchers_and_caches_hear_before_the_caller(store: Store) -> None:
    """When a write returns, every subscriber has seen it and every watcher has it queued."""
    heard: list[Event] = []
    store.subscribe("pods", heard.append)
    watcher = store.watch("pods", after_revision=0)
    row = await store.create("pods", "p", text("a"))
    assert heard == [Event("ADDED", row, None)]
    assert await watcher.batch() == heard


async def test_many_writers_get_gapless_revisions_in_order(store: Store) -> None:
    """Events arrive in revision order without gaps, whatever the batches were."""
    watcher = store.watch("pods", after_revision=0)
    rows = await asyncio.gather(*(store.create("pods", f"p{n:03}", text("x")) for n in range(300)))
    events = await watcher.batch()
    assert [event.row for event in events] == rows
    assert [row.revision for row in rows] == list(range(1, 301))


async def test_too_many_waiting_writes_are_refused(path: Path) -> None:
    store = await Store.open(path, Options(max_waiting_writes=2))
    outcomes = await asyncio.gather(
        *(store.create("pods", key, text("x")) for key in "abc"), return_exceptions=True
    )
    assert outcomes[:2] == [Row("a", 1, b"x@1"), Row("b", 2, b"x@2")]
    assert isinstance(outcomes[2], StoreBusy)
    await store.close()


async def test_waiting_for_a_revision(store: Store) -> None:
    waiting = asyncio.create_task(store.wait_for(2))
    await store.create("pods", "p", text("a"))
    assert not waiting.done()
    await store.create("pods", "q", text("b"))
    await waiting
    await store.wait_for(2)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await store.wait_for(3)


async def test_waiting_for_a_revision_that_never_comes_ends_with_the_store() -> None:
    store = await Store.open(None)
    waiting = asyncio.create_task(store.wait_for(1))
    await asyncio.sleep(0)
    await store.close()
    with pytest.raises(StoreClosed):
        await waiting


async def test_an_object_is_in_memory_once(store: Store) -> None:
    """Index, history, watchers and pages share one Row, however many mention it."""
    row = await store.create("pods", "p", text("a"))
    await store.update("pods", "p", 1, text("b"))
    added, modified = await store.watch("pods", after_revision=0).batch()
    assert added.row is row
    assert modified.previous is row
    assert modified.row is store.get("pods", "p")
    assert store.page("pods", at_revision=1).rows[0] is row


async def test_closing_commits_what_was_submitted(path: Path) -> None:
    store = await Store.open(path)
    writes = [asyncio.create_task(store.create("pods", f"p{n}", text("x"))) for n in range(50)]
    await asyncio.sleep(0)
    await store.close()
    assert [(await write).revision for write in writes] == list(range(1, 51))
    with pytest.raises(StoreClosed):
        await store.create("pods", "late", text("x"))
    with pytest.raises(StoreClosed):
        store.watch("pods", after_revision=0)
    await store.close()


async def test_statistics_count_what_happened(path: Path) -> None:
    store = await Store.open(path)
    watcher = store.watch("pods", after_revision=0, maxsize=1)
    await store.create("pods", "p", text("a"))
    await store.update("pods", "p", 1, text("b"))
    with store.watch("pods", after_revision=2):
        seen = store.statistics()
    assert seen == Statistics(
        revision=2,
        keys=1,
        waiting_writes=0,
        last_batch_rows=1,
        last_commit_s=seen.last_commit_s,
        failed_batches=0,
        watchers=1,
        dropped_watchers=1,
        history_events=2,
        history_bytes=2 * 256 + 3,
        oldest_revision=1,
        compacted_revision=0,
        database_bytes=seen.database_bytes,
    )
    watcher.close()
    await store.close()


async def test_a_store_without_a_file_behaves_the_same() -> None:
    store = await Store.open(None)
    await store.create("pods", "p", text("a"))
    await store.update("pods", "p", 1, text("b"))
    await store.compact(2)
    assert store.list("pods") == [Row("p", 2, b"b@2")]
    await store.close()
