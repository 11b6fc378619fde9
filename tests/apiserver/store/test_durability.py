"""The file: what a restart brings back, what is refused, what a failing disk does."""

import asyncio
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from blockbuster import BlockBuster

from flexlet.apiserver.store import Event, Options, Row, Store, StoreFault, StoreFull
from flexlet.apiserver.store.database import MAX_BATCH_ROWS, Database, Stored
from flexlet.errors import ConfigError

IMPATIENT = Options(lock_timeout_s=0.0)


def plain(revision: int) -> bytes:
    return b"%d" % revision


def edit(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()


async def write_a_little(path: Path) -> None:
    store = await Store.open(path)
    await store.create("pods", "b", plain)
    await store.create("pods", "a", plain)
    await store.update("pods", "b", 1, plain)
    await store.close()


async def test_a_restart_brings_back_rows_revision_and_watches(path: Path) -> None:
    """A watch from before the restart resumes after it."""
    await write_a_little(path)
    store = await Store.open(path)
    assert (store.revision, store.list("pods")) == (3, [Row("a", 2, b"2"), Row("b", 3, b"3")])
    assert await store.watch("pods", after_revision=1).batch() == [
        Event("ADDED", Row("a", 2, b"2"), None),
        Event("MODIFIED", Row("b", 3, b"3"), Row("b", 1, b"1")),
    ]
    assert await store.create("pods", "c", plain) == Row("c", 4, b"4")
    await store.close()


async def test_history_compacted_before_a_restart_stays_gone(path: Path) -> None:
    await write_a_little(path)
    store = await Store.open(path)
    await store.compact(2)
    await store.close()
    again = await Store.open(path)
    assert again.page("pods", at_revision=2).rows == [Row("a", 2, b"2"), Row("b", 1, b"1")]
    assert again.statistics().oldest_revision == 3
    await again.close()


async def test_only_the_owner_may_read_the_file(path: Path, loop_stays_free: BlockBuster) -> None:
    """Secrets are inside."""
    store = await Store.open(path)
    await store.create("secrets", "s", plain)
    loop_stays_free.deactivate()
    modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    await store.close()
    assert modes == {0o600}


def asked(connection: sqlite3.Connection, pragma: str) -> object:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]


async def test_an_acknowledged_write_waits_for_the_disk(path: Path) -> None:
    """Unless asked otherwise: a kill cannot show the difference, only a loss of power does."""
    pragmas = ("journal_mode", "synchronous", "locking_mode", "journal_size_limit")
    for options, synchronous in ((Options(), 2), (Options(synchronous="NORMAL"), 1)):
        store = await Store.open(path, options)
        connection = store._writer._database._connection
        found = [await asyncio.to_thread(asked, connection, name) for name in pragmas]
        assert found == ["wal", synchronous, "exclusive", 16 << 20]
        await store.close()


async def test_a_file_in_use_is_refused(path: Path) -> None:
    """Within one process and from another, with the remedy in the message."""
    store = await Store.open(path)
    with pytest.raises(ConfigError, match=r"data\.db: database is locked; another process has it open; stop"):
        await Store.open(path, IMPATIENT)
    opener = (
        "import asyncio, pathlib, sys\n"
        "from flexlet.apiserver.store import Options, Store\n"
        "asyncio.run(Store.open(pathlib.Path(sys.argv[1]), Options(lock_timeout_s=0.0)))\n"
    )
    arguments = [sys.executable, "-c", opener, str(path)]
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    other = await asyncio.to_thread(
        subprocess.run, arguments, env=environment, capture_output=True, text=True, check=False
    )
    assert other.returncode == 1
    assert "another process has it open" in other.stderr
    await store.close()
    await write_a_little(path)


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("PRAGMA user_version = 3", "its format is version 3, this flexlet reads version 2"),
        ("PRAGMA application_id = 7", "it is a database of another program"),
        (
            "DELETE FROM revisions WHERE revision = 2",
            "missing revisions: 2; the file is damaged; restore a backup",
        ),
        (
            "UPDATE revisions SET previous = 2 WHERE revision = 3",
            "1 record with a wrong checksum: pods b at revision 3; the file is damaged",
        ),
        ("UPDATE meta SET compacted = 1", "the checksum of its table `meta` is wrong; the file is damaged"),
        ("DELETE FROM meta", "its table `meta` is not what was written; the file is damaged"),
        ("DROP TABLE meta", "no such table: meta; the file is damaged"),
    ],
)
async def test_a_file_that_is_not_ours_is_refused(path: Path, damage: str, complaint: str) -> None:
    """The message names the file and what to do; the lock is let go."""
    await write_a_little(path)
    await asyncio.to_thread(edit, path, damage)
    for _ in range(2):
        with pytest.raises(ConfigError, match=complaint) as caught:
            await Store.open(path, IMPATIENT)
        assert str(path) in str(caught.value)


async def test_rubbish_is_refused_and_left_alone(path: Path) -> None:
    rubbish = b"not a database, but long enough to be looked at as one " * 40
    await asyncio.to_thread(path.write_bytes, rubbish)
    with pytest.raises(ConfigError, match="the file is damaged; restore a backup with `flexlet server restore`"):
        await Store.open(path)
    assert await asyncio.to_thread(path.read_bytes) == rubbish


async def test_a_torn_file_is_refused(path: Path) -> None:
    store = await Store.open(path)
    await asyncio.gather(*(store.create("pods", f"p{n}", lambda _: b"x" * 3000) for n in range(100)))
    await store.close()

    def tear() -> None:
        with path.open("r+b") as file:
            file.seek(40 * 4096)
            file.write(b"\xff" * 8192)

    await asyncio.to_thread(tear)
    with pytest.raises(ConfigError, match="the file is damaged"):
        await Store.open(path)


async def test_a_missing_directory_is_named(path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere/data\.db: .*check that it is a file in a directory"):
        await Store.open(path.parent / "nowhere" / "data.db")


async def fill_the_disk(store: Store, pages: int | None) -> None:
    """Let SQLite refuse to grow its file, as it would on a full disk; None gives the space back."""
    connection = store._writer._database._connection
    await asyncio.to_thread(connection.execute, f"PRAGMA max_page_count = {pages or 2**30}")


async def test_a_full_disk_fails_all_that_waits_and_shows_none_of_it(path: Path) -> None:
    """Compare-and-swap, revisions and readers stand where they stood before; then writing goes on."""
    store = await Store.open(path)
    before = await store.create("pods", "p", plain)
    watcher = store.watch("pods", after_revision=1)
    await fill_the_disk(store, 5)

    outcomes = await asyncio.gather(
        store.update("pods", "p", 1, plain),
        store.update("pods", "p", 2, plain),  # builds on a row that will never be
        *(store.create("pods", f"big{n}", lambda _: b"x" * 100_000) for n in range(3 * MAX_BATCH_ROWS)),
        store.create("pods", "big0", plain),  # lost against a create that fails
        return_exceptions=True,
    )
    assert {type(outcome) for outcome in outcomes} == {StoreFull}
    assert "database or disk is full; nothing of it is visible" in str(outcomes[0])
    assert (store.revision, store.list("pods")) == (1, [before])
    assert store.head("pods", "p") == before
    assert store.statistics().waiting_writes == 0

    await fill_the_disk(store, None)
    after = await store.update("pods", "p", 1, plain)
    assert after == Row("p", 2, b"2")
    assert await watcher.batch() == [Event("MODIFIED", after, before)]
    await store.close()
    again = await Store.open(path)
    assert again.list("pods") == [after]
    await again.close()


async def test_a_failing_compaction_is_put_off_and_harms_no_write(path: Path) -> None:
    store = await Store.open(path)
    await store.create("pods", "p", plain)
    connection = store._writer._database._connection
    await asyncio.to_thread(connection.execute, "PRAGMA query_only = 1")
    with pytest.raises(StoreFault, match="cannot compact"):
        await store.compact(1)
    await asyncio.to_thread(connection.execute, "PRAGMA query_only = 0")
    await store.update("pods", "p", 1, plain)
    await store.compact(1)
    await store.close()


def test_a_batch_is_all_or_nothing(path: Path) -> None:
    """One bad record keeps the whole batch out."""
    database = Database.open(path, "NORMAL", 0.0)
    good = Stored(1, 0, False, "pods", "p", b"1")
    with pytest.raises(StoreFault, match=r"cannot write revisions 1 to 1 .*UNIQUE constraint failed"):
        database.append([good, good])
    with pytest.raises(StoreFault, match="surrogates not allowed"):
        database.append([good, Stored(2, 0, False, "pods", "\ud800", b"2")])
    assert list(database.replay()) == []
    database.append([good])
    assert list(database.replay()) == [good]
    database.close()


def test_compaction_goes_in_small_steps(path: Path) -> None:
    database = Database.open(path, "NORMAL", 0.0)
    records = [Stored(n, n - 1, False, "pods", "p", b"x") for n in range(1, 101)]
    database.append(records)
    reached = []
    while database.compacted < 95:
        database.compact(95, step=40)
        reached.append((database.compacted, len(list(database.replay()))))
    assert reached == [(40, 61), (80, 21), (95, 6)]
    database.compact(10, step=40)
    assert database.compacted == 95
    database.close()
