"""Watches: what they replay, whom they wake, when they are cut off."""

import asyncio

import pytest

from flexlet.apiserver.store import Compacted, Event, Overflow, Row, Store


def plain(revision: int) -> bytes:
    return b"%d" % revision


async def lives_of_two_pods(store: Store) -> list[Event]:
    """Two pods in two namespaces, one of them changed and deleted: the five events of that."""
    await store.create("pods", "a/p", plain)
    await store.create("pods", "b/q", plain)
    await store.create("nodes", "n", plain)
    await store.update("pods", "a/p", 1, plain)
    await store.delete("pods", "a/p", 4, plain)
    return [
        Event("ADDED", Row("a/p", 1, b"1"), None),
        Event("ADDED", Row("b/q", 2, b"2"), None),
        Event("MODIFIED", Row("a/p", 4, b"4"), Row("a/p", 1, b"1")),
        Event("DELETED", Row("a/p", 5, b"5"), Row("a/p", 4, b"4")),
    ]


async def test_events_carry_the_previous_row(store: Store) -> None:
    """Selector transitions need the state before; a deletion shows the last state under its own revision."""
    watcher = store.watch("pods", after_revision=0)
    events = await lives_of_two_pods(store)
    assert [await anext(watcher) for _ in events] == events


async def test_a_watch_resumes_after_the_revision_it_names(store: Store) -> None:
    events = await lives_of_two_pods(store)
    assert await store.watch("pods", after_revision=2).batch() == events[2:]
    assert await store.watch("pods", "b/", after_revision=0).batch() == [events[1]]


async def test_a_replay_joins_the_live_stream_without_gap_or_repeat(store: Store) -> None:
    events = await lives_of_two_pods(store)
    watcher = store.watch("pods", after_revision=1, maxsize=1)
    row = await store.create("pods", "a/new", plain)
    assert await watcher.batch() == [*events[1:], Event("ADDED", row, None)]


async def test_a_watch_from_the_future_waits_for_it(store: Store) -> None:
    watcher = store.watch("pods", after_revision=2)
    for key in "abc":
        await store.create("pods", key, plain)
    assert await watcher.batch() == [Event("ADDED", Row("c", 3, b"3"), None)]


async def test_chosen_events_only(store: Store) -> None:
    """The chooser applies to the replay and to what follows."""
    await store.create("pods", "a", plain)
    await store.create("pods", "b", plain)
    watcher = store.watch("pods", after_revision=0, accept=lambda event: event.row.revision % 2 == 0)
    await store.create("pods", "c", plain)
    await store.create("pods", "d", plain)
    assert [event.row.key for event in await watcher.batch()] == ["b", "d"]


async def test_a_broken_chooser_ends_its_own_watch_only(store: Store) -> None:
    def broken(event: Event) -> bool:
        raise LookupError(event.row.key)

    watcher = store.watch("pods", after_revision=0, accept=broken)
    healthy = store.watch("pods", after_revision=0)
    row = await store.create("pods", "p", plain)
    assert await healthy.batch() == [Event("ADDED", row, None)]
    with pytest.raises(LookupError):
        await anext(watcher)


async def test_a_slow_watcher_is_cut_off_and_the_others_go_on(store: Store) -> None:
    """A full queue ends that watcher with Overflow; the store and the others are not held up."""
    slow = store.watch("pods", after_revision=0, maxsize=3)
    quick = store.watch("pods", after_revision=0, maxsize=10)
    for key in "abcde":
        await store.create("pods", key, plain)
    with pytest.raises(Overflow):
        await anext(slow)
    assert [event.row.key for event in await quick.batch()] == list("abcde")
    assert (store.statistics().dropped_watchers, store.statistics().watchers) == (1, 1)


async def test_a_waiting_consumer_is_woken(store: Store) -> None:
    watcher = store.watch("pods", after_revision=0)
    consumer = asyncio.create_task(anext(watcher))
    await asyncio.sleep(0)
    row = await store.create("pods", "p", plain)
    assert await consumer == Event("ADDED", row, None)


async def test_a_cancelled_wait_loses_no_event(store: Store) -> None:
    watcher = store.watch("pods", after_revision=0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await watcher.batch()
    row = await store.create("pods", "p", plain)
    assert await watcher.batch() == [Event("ADDED", row, None)]


async def test_progress_is_what_a_bookmark_may_promise(store: Store) -> None:
    """Nothing up to that revision is still to come, even when other buckets moved the counter."""
    watcher = store.watch("pods", after_revision=0)
    await store.create("nodes", "n", plain)
    assert watcher.progress() == 1
    await store.create("pods", "p", plain)
    await store.create("nodes", "m", plain)
    assert watcher.progress() == 1
    await watcher.batch()
    assert watcher.progress() == 3
    assert store.watch("pods", after_revision=9).progress() == 9


async def test_a_closed_watcher_is_at_its_end(store: Store) -> None:
    with store.watch("pods", after_revision=0) as watcher:
        await store.create("pods", "p", plain)
    assert [event async for event in watcher] == []
    assert await watcher.batch() == []
    assert store.statistics().watchers == 0


async def test_ending_the_watches_of_a_bucket_delivers_what_is_queued(store: Store) -> None:
    """Taking a kind away ends its streams well; other buckets are left alone."""
    pods, nodes = (store.watch(bucket, after_revision=0) for bucket in ("pods", "nodes"))
    row = await store.create("pods", "p", plain)
    store.end_watches("pods")
    assert [event async for event in pods] == [Event("ADDED", row, None)]
    assert store.statistics().watchers == 1
    nodes.close()


async def test_closing_the_store_ends_the_watches() -> None:
    store = await Store.open(None)
    watcher = store.watch("pods", after_revision=0)
    consumer = asyncio.create_task(watcher.batch())
    await asyncio.sleep(0)
    await store.close()
    assert await consumer == []


async def test_a_watch_from_before_the_history_is_gone(store: Store) -> None:
    """410 Gone names the oldest revision that can still be asked for."""
    events = await lives_of_two_pods(store)
    await store.compact(4)
    with pytest.raises(Compacted) as caught:
        store.watch("pods", after_revision=3)
    assert (caught.value.asked, caught.value.oldest) == (3, 4)
    with pytest.raises(Compacted):
        store.watch("secrets", after_revision=3)
    assert await store.watch("pods", after_revision=4).batch() == events[3:]


async def test_unsubscribing(store: Store) -> None:
    heard: list[Event] = []
    unsubscribe = store.subscribe("pods", heard.append)
    row = await store.create("pods", "p", plain)
    unsubscribe()
    unsubscribe()
    await store.create("pods", "q", plain)
    assert heard == [Event("ADDED", row, None)]


async def test_a_broken_subscriber_is_made_known_and_stops_nobody(store: Store) -> None:
    def broken(event: Event) -> None:
        raise LookupError(event.row.key)

    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: complaints.append(repr(context["exception"]))
    )
    store.subscribe("pods", broken)
    watcher = store.watch("pods", after_revision=0)
    row = await store.create("pods", "p", plain)
    assert await watcher.batch() == [Event("ADDED", row, None)]
    assert complaints == ["LookupError('p')"]
