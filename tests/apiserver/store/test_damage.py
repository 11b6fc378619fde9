"""Damaged files: every loss is noticed at the next start, named, and refused."""

import asyncio
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from flexlet.apiserver.store import Options, Row, Store
from flexlet.apiserver.store.checksum import PIECE, checksum, is_intact
from flexlet.apiserver.store.database import Database, Stored
from flexlet.apiserver.store.mark import Reached, mark_path, packed, read_mark, unpacked
from flexlet.apiserver.store.replay import load
from flexlet.apiserver.store.sqlitefile import wal_path
from flexlet.errors import ConfigError

QUIET = Options(lock_timeout_s=0.0)
State = dict[str, dict[str, Row]]


def value(revision: int) -> bytes:
    return b'{"resourceVersion":"%d","data":"%s"}' % (revision, b"x" * (50 + revision * 37 % 900))


async def fill(store: Store, count: int) -> None:
    """Objects that are created, changed and deleted."""
    for number in range(count):
        row = await store.create("pods", f"default/p{number}", value)
        if number % 3 == 0:
            row = await store.update("pods", row.key, row.revision, value)
        if number % 7 == 0:
            await store.delete("pods", row.key, row.revision, value)


def state_of(path: Path) -> State:
    loaded = load(path, "FULL", 0.0)
    loaded.database.close()
    return {name: bucket.rows for name, bucket in loaded.buckets.items()}


async def killed(path: Path, *, compacted: bool = False) -> tuple[Path, State]:
    """The files as `kill -9` leaves them, copied from under a store; and what they hold."""
    store = await Store.open(path)
    await fill(store, 100)
    if compacted:
        await store.compact(store.revision - 20)
        await fill_more(store)
    rows = {name: dict(bucket.rows) for name, bucket in store._buckets.items()}
    left = path.parent / "left"
    await asyncio.to_thread(copy, path, left)
    await store.close()
    return left / path.name, rows


async def fill_more(store: Store) -> None:
    for number in range(20):
        await store.create("nodes", f"n{number}", value)


def copy(path: Path, to: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for file in path.parent.iterdir():
        if file.is_file() and not file.name.endswith("-reserve"):
            shutil.copy(file, to)


def test_a_checksum_covers_every_column_and_every_byte() -> None:
    record = (7, 3, True, "pods", "default/web", b"x" * (2 * PIECE + 1))
    right = checksum(*record)
    assert is_intact((*record[:2], 1, *record[3:], right))
    others = [
        (8, *record[1:]),
        (7, 4, *record[2:]),
        (7, 3, False, *record[3:]),
        (*record[:3], "pod", "sdefault/web", record[5]),
        (*record[:4], "default/wed", record[5]),
    ]
    changed = [(*record[:5], bytes(at == n for n in range(len(record[5])))) for at in (0, PIECE, 2 * PIECE)]
    sums = {checksum(*other) for other in (*others, *changed)}
    assert len(sums) == 8
    assert right not in sums
    assert 0 <= max(sums) < 2**63
    assert not is_intact((7, 3, 1, b"pods", "default/web", record[5], right))
    assert not is_intact((7, 3, 2, *record[3:], right))
    assert not is_intact((7, 3, 1, "\ud800", "default/web", record[5], right))


def test_a_mark_is_read_as_written_and_no_byte_of_it_can_change() -> None:
    written = packed(Reached(b"i" * 16, 12345))
    assert len(written) == 64
    assert unpacked(written) == Reached(b"i" * 16, 12345)
    for position in range(64):
        damaged = bytearray(written)
        damaged[position] ^= 1
        assert unpacked(bytes(damaged)) is None
    assert unpacked(b"") is None


def test_a_mark_is_on_the_disk_before_it_has_its_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And whenever it is asked for, and at the end: a loss of power must not leave less than that."""
    calls: list[str] = []
    rename = Path.replace

    def replace(old: Path, new: Path) -> Path:
        calls.append(old.name)
        return rename(old, new)

    monkeypatch.setattr(os, "fdatasync", lambda _: calls.append("file"))
    monkeypatch.setattr(os, "fsync", lambda _: calls.append("directory"))
    monkeypatch.setattr(Path, "replace", replace)
    database = Database.open(path, "FULL", 0.0)
    database.start(0)
    assert calls == ["file", "data.db-mark-new", "directory"]
    database.append([Stored(1, 0, False, "pods", "p", b"1")])
    assert len(calls) == 3
    database.synchronize()
    assert calls[3:] == ["file"]
    database.close()
    assert calls[4:] == ["file"]


async def test_files_of_a_killed_server_are_whole(path: Path) -> None:
    left, rows = await killed(path)
    assert await asyncio.to_thread(state_of, left) == rows


async def test_a_deleted_log_is_noticed(path: Path) -> None:
    """SQLite would take the file for complete: everything since the last checkpoint would be gone."""
    left, _ = await killed(path)
    await asyncio.to_thread(wal_path(left).unlink)
    with pytest.raises(ConfigError) as caught:
        await Store.open(left, QUIET)
    assert str(caught.value) == (
        f"cannot use data file {left}: writes up to revision 149 were acknowledged and the file ends at 0: 149 "
        "are lost, with the end of its write-ahead log; the file is damaged; restore a backup with "
        "`flexlet server restore`, or save what is readable with `flexlet server check --repair`"
    )


@pytest.mark.parametrize("part", [0.2, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("how", ["cut", "flipped"])
async def test_a_log_that_ends_early_is_noticed(path: Path, part: float, how: str) -> None:
    """A damaged frame ends the log for SQLite as a missing one does."""
    left, _ = await killed(path)

    def damage() -> None:
        content = bytearray(wal_path(left).read_bytes())
        at = int(len(content) * part)
        content[at] ^= 0xFF
        wal_path(left).write_bytes(content[:at] if how == "cut" else content)

    await asyncio.to_thread(damage)
    log = await asyncio.to_thread(wal_path(left).read_bytes)
    for _ in range(2):
        with pytest.raises(ConfigError, match="writes up to revision 149 were acknowledged and the file ends at"):
            await Store.open(left, QUIET)
        assert await asyncio.to_thread(wal_path(left).read_bytes) == log


async def test_a_missing_data_file_is_noticed(path: Path) -> None:
    left, _ = await killed(path)
    await asyncio.to_thread(left.unlink)
    with pytest.raises(
        ConfigError, match=r"it is missing or empty, and .*-mark says that it held revisions up to 149"
    ):
        await Store.open(left, QUIET)


async def test_a_file_that_was_not_closed_needs_its_mark(path: Path) -> None:
    left, _ = await killed(path)
    await asyncio.to_thread(mark_path(left).unlink)
    with pytest.raises(ConfigError, match=r"did not end by itself, and .*-mark, which says how far .* is missing"):
        await Store.open(left, QUIET)
    await asyncio.to_thread(wal_path(left).unlink)
    with pytest.raises(ConfigError, match="did not end by itself"):
        await Store.open(left, QUIET)


async def test_a_file_that_was_closed_can_be_copied_alone(path: Path) -> None:
    store = await Store.open(path)
    await fill(store, 5)
    rows = store.list("pods")
    await store.close()
    await asyncio.to_thread(mark_path(path).unlink)
    again = await Store.open(path)
    assert again.list("pods") == rows
    await again.close()
    assert (await asyncio.to_thread(read_mark, path)) is not None


async def test_an_older_copy_of_a_file_is_noticed(path: Path, tmp_path: Path) -> None:
    store = await Store.open(path)
    await store.create("pods", "a", value)
    await store.close()
    older = await asyncio.to_thread(path.read_bytes)
    store = await Store.open(path)
    await store.create("pods", "b", value)
    await store.close()
    await asyncio.to_thread(path.write_bytes, older)
    with pytest.raises(ConfigError, match="up to revision 2 were acknowledged and the file ends at 1: 1 are lost"):
        await Store.open(path, QUIET)
    other = await Store.open(tmp_path / "other.db")
    await other.close()
    await asyncio.to_thread(shutil.copy, tmp_path / "other.db", path)
    with pytest.raises(ConfigError, match="-mark belongs to another data file, one that held revisions up to 2"):
        await Store.open(path, QUIET)


async def test_a_damaged_mark_is_refused(path: Path) -> None:
    store = await Store.open(path)
    await store.close()
    await asyncio.to_thread(mark_path(path).write_bytes, b"\0" * 64)
    with pytest.raises(ConfigError, match=r"cannot use .*-mark: it is damaged"):
        await Store.open(path, QUIET)


async def test_an_old_object_that_is_missing_is_noticed(path: Path) -> None:
    """Below the compacted revision there are gaps anyway: the objects are counted."""
    store = await Store.open(path)
    await fill(store, 10)
    await store.compact(store.revision)
    await store.close()
    await asyncio.to_thread(
        edit, path, "DELETE FROM revisions WHERE revision = (SELECT min(revision) FROM revisions)"
    )
    with pytest.raises(ConfigError, match="7 objects up to revision 16 where 8 were written"):
        await Store.open(path, QUIET)


async def test_records_that_cannot_follow_are_noticed(path: Path) -> None:
    """Each with a right checksum, as when two files are mixed."""
    store = await Store.open(path)
    await store.create("pods", "a", value)
    await store.close()

    def add(*record: object) -> Callable[[], None]:
        def insert() -> None:
            connection = sqlite3.connect(path, isolation_level=None)
            connection.create_function("checksum", 6, checksum)
            connection.execute("DELETE FROM revisions WHERE revision > 1")
            connection.execute(
                "INSERT INTO revisions VALUES (?,?,?,?,?,?,checksum(?,?,?,?,?,?))", (*record, *record)
            )
            connection.close()

        return insert

    for record in ((2, 0, 0, "pods", "a", b"x"), (2, 7, 0, "pods", "b", b"x"), (2, 0, 1, "pods", "b", b"x")):
        await asyncio.to_thread(add(*record))
        with pytest.raises(ConfigError, match=f"1 record .* cannot lead to: pods {record[4]} at revision 2"):
            await Store.open(path, QUIET)
    await asyncio.to_thread(add(2, 1, 0, "pods", "a", b"x"))
    store = await Store.open(path)
    await store.close()


async def test_flipped_bytes_end_in_the_right_state_or_in_a_refusal(path: Path) -> None:
    """1 to 64 bytes anywhere in the data file, its log and its mark."""
    for compacted in (False, True):
        left, rows = await killed(path, compacted=compacted)
        await asyncio.to_thread(flip_rounds, left, rows, seeded(4711 + compacted), 60)
        await asyncio.to_thread(shutil.rmtree, left.parent)
        await asyncio.to_thread(path.unlink)
        await asyncio.to_thread(mark_path(path).unlink)


async def test_flipped_bytes_of_a_closed_file(path: Path) -> None:
    store = await Store.open(path)
    await fill(store, 100)
    rows = {name: dict(bucket.rows) for name, bucket in store._buckets.items()}
    await store.close()
    await asyncio.to_thread(flip_rounds, path, rows, seeded(42), 60)


@pytest.mark.slow
async def test_flipped_bytes_many_times(path: Path) -> None:
    """Other places on every run, on purpose."""
    for compacted in (False, True):
        left, rows = await killed(path, compacted=compacted)
        await asyncio.to_thread(flip_rounds, left, rows, seeded(None), 1500)
        await asyncio.to_thread(shutil.rmtree, left.parent)
        await asyncio.to_thread(path.unlink)
        await asyncio.to_thread(mark_path(path).unlink)


def seeded(seed: int | None) -> random.Random:
    return random.Random(seed)  # noqa: S311  damage, not secrets


def flip_rounds(path: Path, rows: State, source: random.Random, rounds: int) -> None:
    refused = 0
    for number in range(rounds):
        trial = path.parent / f"trial{number}"
        copy(path, trial)
        flip(trial, source)
        try:
            found = state_of(trial / path.name)
        except ConfigError as refusal:
            assert path.name in str(refusal)  # noqa: PT017  either is right
            refused += 1
        else:
            assert found == rows
        shutil.rmtree(trial)
    assert refused > rounds / 4


def flip(directory: Path, source: random.Random) -> None:
    """Change bytes of one file, or of all: more often of the larger."""
    files = sorted(file for file in directory.iterdir() if file.stat().st_size)
    file = source.choices(files, [file.stat().st_size for file in files])[0]
    content = bytearray(file.read_bytes())
    for _ in range(source.randint(1, 64)):
        content[source.randrange(len(content))] ^= source.randint(1, 255)
    file.write_bytes(content)


def edit(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()


VERSION_1 = (
    """CREATE TABLE revisions (revision INTEGER PRIMARY KEY, previous INTEGER NOT NULL, deleted INTEGER NOT NULL,
       bucket TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL)""",
    "CREATE TABLE compaction (revision INTEGER NOT NULL)",
    "INSERT INTO compaction VALUES (2)",
    "INSERT INTO revisions VALUES (2, 0, 0, 'pods', 'a', x'6161'), (3, 0, 0, 'pods', 'b', x'62')",
    "INSERT INTO revisions VALUES (4, 2, 0, 'pods', 'a', x'61'), (5, 3, 1, 'pods', 'b', x'62')",
    "PRAGMA application_id = 0x666C7874",
    "PRAGMA user_version = 1",
    "PRAGMA journal_mode = WAL",
)


async def test_a_file_of_version_1_is_upgraded_in_place(path: Path) -> None:
    """Rows, history and what is forgotten stay as they were; from then on it has checksums."""
    for statement in VERSION_1:
        await asyncio.to_thread(edit, path, statement)
    for _ in range(2):
        store = await Store.open(path)
        assert (store.revision, store.list("pods")) == (5, [Row("a", 4, b"a")])
        assert store.page("pods", at_revision=3).rows == [Row("a", 2, b"aa"), Row("b", 3, b"b")]
        assert store.statistics().compacted_revision == 2
        await store.close()
    await asyncio.to_thread(edit, path, "UPDATE revisions SET value = x'62' WHERE revision = 4")
    with pytest.raises(ConfigError, match="1 record with a wrong checksum: pods a at revision 4"):
        await Store.open(path, QUIET)
