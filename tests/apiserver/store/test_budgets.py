"""Bytes: what history keeps alive, what a watcher may have queued, and who goes when it is too much."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from flexlet.apiserver.store import Compacted, Event, Options, Overflow, Store
from flexlet.apiserver.store.bucket import EVENT_BYTES

KILOBYTE = 1000


def filled(revision: int) -> bytes:
    return b"%d" % revision + b"x" * (KILOBYTE - len(str(revision)))


async def rewritten(store: Store, bucket: str, times: int) -> None:
    """One object of a kilobyte, created and then rewritten."""
    row = await store.create(bucket, "k", filled)
    for _ in range(times):
        row = await store.update(bucket, "k", row.revision, filled)


async def test_history_of_large_objects_is_bounded_by_bytes() -> None:
    """A hundred rewrites fit into no more than the budget; the newest can still be asked for, the oldest not."""
    store = await Store.open(None, Options(bucket_history_bytes=10 * KILOBYTE))
    await rewritten(store, "configmaps", 100)
    seen = store.statistics()
    assert 8 * KILOBYTE < seen.history_bytes <= 10 * KILOBYTE
    assert seen.history_bytes == seen.history_events * (KILOBYTE + EVENT_BYTES)
    with pytest.raises(Compacted):
        store.watch("configmaps", after_revision=50)
    assert [event.row.revision for event in await store.watch("configmaps", after_revision=99).batch()] == [
        100,
        101,
    ]
    await store.close()


async def test_over_the_total_the_bucket_that_holds_most_gives_first() -> None:
    store = await Store.open(None, Options(history_bytes=30 * KILOBYTE))
    await rewritten(store, "pods", 5)
    await rewritten(store, "configmaps", 100)
    assert store.statistics().history_bytes <= 30 * KILOBYTE
    assert len(await store.watch("pods", after_revision=0).batch()) == 6
    with pytest.raises(Compacted):
        store.watch("configmaps", after_revision=6)
    await store.close()


async def test_a_watcher_is_cut_off_at_its_bytes(store: Store) -> None:
    slow = store.watch("pods", after_revision=0, max_bytes=3 * KILOBYTE)
    quick = store.watch("pods", after_revision=0)
    await rewritten(store, "pods", 3)
    with pytest.raises(Overflow):
        await anext(slow)
    assert len(await quick.batch()) == 4


async def test_what_was_read_does_not_count(store: Store) -> None:
    """A watcher may get any number of bytes in its life, as long as it reads them."""
    watcher = store.watch("pods", after_revision=0, max_bytes=3 * KILOBYTE)
    row = await store.create("pods", "k", filled)
    seen = [event.row.revision for event in await watcher.batch()]
    for _ in range(10):
        for _ in range(2):
            row = await store.update("pods", "k", row.revision, filled)
        seen += [event.row.revision for event in await watcher.batch()]
    assert seen == list(range(1, 22))


async def test_one_event_of_any_size_is_delivered(store: Store) -> None:
    watcher = store.watch("pods", after_revision=0, max_bytes=10)
    row = await store.create("pods", "p", filled)
    assert (await anext(watcher)).row == row


async def test_nobody_keeps_alive_what_history_has_forgotten() -> None:
    """Queues hold only what is in the history, so a thousand that do not read cost no more than one."""
    store = await Store.open(None, Options(bucket_history_bytes=10 * KILOBYTE))
    idle = [store.watch("configmaps", after_revision=0) for _ in range(3)]
    reader = store.watch("configmaps", after_revision=0)
    reading = asyncio.create_task(_all(reader.batch))
    await rewritten(store, "configmaps", 50)
    assert (store.statistics().dropped_watchers, store.statistics().watchers) == (3, 1)
    for watcher in idle:
        with pytest.raises(Overflow):
            await watcher.batch()
    await store.close()
    assert await reading == list(range(1, 52))


async def _all(batch: Callable[[], Awaitable[list[Event]]]) -> list[int]:
    found: list[int] = []
    while events := await batch():
        found += [event.row.revision for event in events]
    return found


async def test_rounds_come_at_once_while_little_happens_and_together_while_much_does(store: Store) -> None:
    """A function that takes events is called once for all that were committed together."""
    watcher = store.watch("pods", after_revision=0)
    taken: list[list[int]] = []
    watcher.deliver_to(lambda: taken.append([event.row.revision for event in watcher.take()]))
    await asyncio.gather(*(store.create("pods", key, filled) for key in "abc"))
    await asyncio.sleep(0.05)
    assert [revision for batch in taken for revision in batch] == [1, 2, 3]
    await store.create("pods", "d", filled)
    await asyncio.sleep(0.05)
    assert taken[-1] == [4]


async def test_a_taker_may_take_part_of_what_is_queued(store: Store) -> None:
    watcher = store.watch("pods", after_revision=0)
    await rewritten(store, "pods", 3)
    assert [event.row.revision for event in watcher.take(1500)] == [1, 2]
    assert watcher.progress() == 2
    assert [event.row.revision for event in watcher.take(1)] == [3]
    assert [event.row.revision for event in watcher.take()] == [4]
