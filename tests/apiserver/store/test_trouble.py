"""A disk that does not take writes: the store says so, deletes what it is told to, and recovers by itself."""

import asyncio
from pathlib import Path

import pytest

from flexlet.apiserver.http.health import Health
from flexlet.apiserver.store import Row, Store, StoreFault, StoreFull
from flexlet.apiserver.store.database import Database


class SmallDisk:
    """A reserve of pages that SQLite may not use until they are released."""

    size = 0
    held = 0

    def __init__(self, database: Database) -> None:
        self._connection = database._connection
        self._pages = int(self._connection.execute("PRAGMA page_count").fetchone()[0])
        self.has_space = False
        self._limit(0)

    def fill(self) -> bool:
        return self.has_space

    def release(self, need: int) -> None:
        self._pages += 64 + 2 * need // 4096
        self._limit(0)

    def give(self) -> None:
        self.has_space = True
        self._limit(2**20)

    def close(self) -> None:
        pass

    def _limit(self, more: int) -> None:
        self._connection.execute(f"PRAGMA max_page_count = {self._pages + more}")


async def eventually(store: Store, *, well: bool) -> None:
    async with asyncio.timeout(20):
        while (store.trouble == "") != well:  # noqa: ASYNC110  the writer thread tells by itself
            await asyncio.sleep(0.05)


async def test_a_full_disk_takes_deletions_only_until_there_is_space(store: Store) -> None:
    kept = [await store.create("pods", f"p{n}", lambda _: b"x" * 9000) for n in range(5)]
    disk = await store.work(SmallDisk)
    await store.work(lambda database: setattr(database, "_reserve", disk))
    with pytest.raises(StoreFull, match=r"database or disk is full; .* make space on the disk"):
        await asyncio.gather(*(store.create("pods", f"q{n}", lambda _: b"x" * 90_000) for n in range(5)))
    assert "database or disk is full" in store.trouble
    with pytest.raises(StoreFull, match="until then only deletions are accepted"):
        await store.update("pods", "p0", kept[0].revision, lambda _: b"y")
    marked = await store.update("pods", "p0", kept[0].revision, lambda _: b"x" * 9000, ends=True)
    for row in (marked, *kept[1:]):
        await store.delete("pods", row.key, row.revision, lambda _: b"x" * 9000)
    assert store.list("pods") == []
    await store.work(lambda _: disk.give())
    await eventually(store, well=True)
    revision = store.revision + 1
    assert await store.create("pods", "again", lambda _: b"z") == Row("again", revision, b"z")


async def test_a_removed_data_file_is_noticed_before_a_write_is_acknowledged(store: Store, path: Path) -> None:
    """Put back, it is written to again, and holds nothing that was refused."""
    first = await store.create("pods", "a", lambda _: b"1")
    await asyncio.to_thread(path.rename, path.with_name("away"))
    for _ in range(2):
        with pytest.raises(StoreFault, match=r"data\.db was removed or replaced while the server uses it"):
            await store.create("pods", "b", lambda _: b"2")
    assert "was removed or replaced" in store.trouble
    assert store.list("pods") == [first]
    await asyncio.to_thread(path.with_name("away").rename, path)
    await eventually(store, well=True)
    assert await store.create("pods", "b", lambda _: b"2") == Row("b", 2, b"2")
    await store.close()
    again = await Store.open(path)
    assert again.list("pods") == [first, Row("b", 2, b"2")]
    await again.close()


async def test_an_idle_store_notices_that_it_cannot_write(store: Store) -> None:
    store._writer._probe_at = 0.0
    await store.work(lambda database: database._connection.execute("PRAGMA query_only = 1").fetchall())
    store._writer._probe_at = 0.0
    await store.work(lambda _: None)
    await eventually(store, well=False)
    assert "attempt to write a readonly database" in store.trouble
    await store.work(lambda database: database._connection.execute("PRAGMA query_only = 0").fetchall())
    await eventually(store, well=True)


async def test_a_write_waits_for_the_disk_before_it_is_acknowledged(store: Store) -> None:
    """synchronous=FULL: 2."""
    assert await store.work(lambda db: db._connection.execute("PRAGMA synchronous").fetchone()[0]) == 2


def test_readiness_tells_the_reason_and_liveness_does_not_ask() -> None:
    health = Health({"store": lambda: "the disk is full"})
    found = {
        path: (answer.status, answer.text)
        for path in ("readyz", "livez", "readyz/store")
        if (answer := health.serve(tuple(path.split("/")), verbose=True))
    }
    assert found == {
        "readyz": (500, "[+]ping ok\n[-]store failed: the disk is full\nreadyz check failed\n"),
        "livez": (200, "[+]ping ok\nlivez check passed\n"),
        "readyz/store": (500, "[-]store failed: the disk is full\nreadyz check failed\n"),
    }
    assert health.serve(("livez",), verbose=False).status == 200
    assert health.serve(("readyz",), verbose=False).status == 500
