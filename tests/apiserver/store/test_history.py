"""Old revisions: pages of the past, what is kept, what compaction removes from memory and file."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from flexlet.apiserver.store import Compacted, Event, Options, Page, Row, Store
from flexlet.apiserver.store.retention import Retention


def plain(revision: int) -> bytes:
    return b"%d" % revision


def row(key: str, revision: int) -> Row:
    return Row(key, revision, plain(revision))


def read_revisions(path: Path) -> list[int]:
    """What the closed file holds; read directly, beside the store."""
    connection = sqlite3.connect(path)
    try:
        return [revision for (revision,) in connection.execute("SELECT revision FROM revisions ORDER BY revision")]
    finally:
        connection.close()


async def stored_revisions(path: Path) -> list[int]:
    return await asyncio.to_thread(read_revisions, path)


async def test_pages_of_one_list_show_one_revision(store: Store) -> None:
    """A continued list goes on at the revision of its first page, whatever happened since."""
    for key in "abcde":
        await store.create("pods", key, plain)
    first = store.page("pods", limit=2)
    assert first == Page(rows=[row("a", 1), row("b", 2)], revision=5, remaining=3)

    await store.update("pods", "c", 3, plain)
    await store.delete("pods", "d", 4, plain)
    await store.create("pods", "bb", plain)
    await store.delete("pods", "e", 5, plain)
    await store.create("pods", "e", plain)

    second = store.page("pods", after_key="b", limit=2, at_revision=5)
    assert second == Page(rows=[row("c", 3), row("d", 4)], revision=5, remaining=1)
    third = store.page("pods", after_key="d", limit=2, at_revision=5)
    assert third == Page(rows=[row("e", 5)], revision=5, remaining=0)
    now = store.page("pods", after_key="b")
    assert now == Page(rows=[row("bb", 8), row("c", 6), row("e", 10)], revision=10, remaining=0)


async def test_a_page_keeps_to_its_prefix_in_the_past_too(store: Store) -> None:
    for key in ("a/x", "b/x", "b/y", "c/x"):
        await store.create("pods", key, plain)
    for revision, key in enumerate(("a/x", "b/x", "b/y", "c/x"), start=1):
        await store.delete("pods", key, revision, plain)
    assert store.page("pods", "b/", at_revision=4).rows == [row("b/x", 2), row("b/y", 3)]
    assert store.page("pods", "b/", after_key="b/x", at_revision=4).rows == [row("b/y", 3)]


async def test_a_page_of_a_forgotten_revision_is_gone(store: Store) -> None:
    for key in "abc":
        await store.create("pods", key, plain)
    await store.compact(2)
    with pytest.raises(Compacted) as caught:
        store.page("pods", at_revision=1)
    assert (caught.value.asked, caught.value.oldest) == (1, 2)
    assert str(caught.value) == "revision 1 is too old, history begins after 2"
    assert store.page("pods", at_revision=2).rows == [row("a", 1), row("b", 2)]


async def test_compaction_leaves_the_live_rows_in_the_file(path: Path) -> None:
    """Replaced and deleted states up to the revision go; what was current then stays."""
    store = await Store.open(path)
    await store.create("pods", "kept", plain)
    await store.create("pods", "changed", plain)
    await store.create("pods", "deleted", plain)
    await store.update("pods", "changed", 2, plain)
    await store.delete("pods", "deleted", 3, plain)
    await store.update("pods", "changed", 4, plain)
    await store.compact(5)
    await store.close()
    assert await stored_revisions(path) == [1, 4, 6]


async def test_compaction_of_nothing_new_and_of_the_future(store: Store) -> None:
    """An older revision than the last is no step back, one in the future means now."""
    for key in "abc":
        await store.create("pods", key, plain)
    await store.compact(2)
    await store.compact(1)
    with pytest.raises(Compacted):
        store.watch("pods", after_revision=1)
    await store.compact(99)
    with pytest.raises(Compacted) as caught:
        store.watch("pods", after_revision=2)
    assert caught.value.oldest == 3


async def test_the_counter_survives_when_all_rows_are_compacted(path: Path) -> None:
    store = await Store.open(path)
    await store.create("pods", "p", plain)
    await store.delete("pods", "p", 1, plain)
    await store.compact(2)
    await store.close()
    assert await stored_revisions(path) == []
    again = await Store.open(path)
    assert again.revision == 2
    assert await again.create("pods", "p", plain) == row("p", 3)
    await again.close()


async def test_history_is_bounded_by_count(path: Path) -> None:
    """With ten events kept, older watches are gone, and the file shrinks as well."""
    store = await Store.open(path, Options(history_events=10))
    await store.create("pods", "p", plain)
    for revision in range(1, 50):
        await store.update("pods", "p", revision, plain)
    statistics = store.statistics()
    assert (statistics.history_events, statistics.oldest_revision) == (10, 41)
    with pytest.raises(Compacted) as caught:
        store.watch("pods", after_revision=39)
    assert caught.value.oldest == 40
    assert len(await store.watch("pods", after_revision=40).batch()) == 10
    await store.close()
    assert await stored_revisions(path) == list(range(40, 51))


async def test_history_is_bounded_by_age(path: Path) -> None:
    now = 0.0
    store = await Store.open(path, Options(history_events=10, history_seconds=300), clock=lambda: now)
    await store.create("pods", "old", plain)
    now = 200.0
    await store.create("pods", "young", plain)
    now = 301.0
    await store.create("pods", "new", plain)
    assert await store.watch("pods", after_revision=1).batch() == [
        Event("ADDED", row("young", 2), None),
        Event("ADDED", row("new", 3), None),
    ]
    now = 600.0
    await store.create("pods", "newest", plain)
    with pytest.raises(Compacted):
        store.watch("pods", after_revision=1)
    await store.close()


async def test_an_idle_bucket_serves_its_watches_for_ever(path: Path) -> None:
    """Only forgetting an event of the bucket itself makes its watches too old."""
    store = await Store.open(path, Options(history_events=5))
    await store.create("nodes", "n", plain)
    for number in range(20):
        await store.create("pods", f"p{number}", plain)
    assert store.watch("nodes", after_revision=1).progress() == 21
    with pytest.raises(Compacted):
        store.watch("nodes", after_revision=0)
    await store.close()


def test_retention_is_the_stricter_of_count_and_age() -> None:
    retention = Retention(events=10, seconds=100.0)
    retention.reached(5, now=0.0)
    retention.reached(8, now=50.0)
    assert retention.cutoff(8, now=99.0) == 0
    assert retention.cutoff(8, now=100.0) == 5
    assert retention.cutoff(30, now=101.0) == 20
    assert retention.cutoff(17, now=150.0) == 8
