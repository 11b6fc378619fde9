"""Whether the data of a server is whole, and what can be saved if not: ``flexlet server check``."""

import shutil
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, Final

from flexlet.apiserver.backup import DATABASE, Report, pki_files, put_aside, reached, report_of, require_stopped
from flexlet.apiserver.store.damage import Survey
from flexlet.apiserver.store.database import Database, Stored
from flexlet.apiserver.store.encryption import SEALED, key_name
from flexlet.apiserver.store.mark import mark_path
from flexlet.apiserver.store.replay import load
from flexlet.apiserver.store.snapshot import BUMP, Contents, salvage, write_snapshot
from flexlet.apiserver.store.sqlitefile import wal_path
from flexlet.apiserver.store.store import Store
from flexlet.errors import ConfigError

CHUNK: Final = 500  # records read between two batches of writes


def check_stopped(data: Path) -> Report:
    """Look at the files of a directory that no server uses; nothing is changed.

    Raises:
        ConfigError: there are none.
    """
    damage, found = _examined(_require_data(data))
    return report_of(found, damage)


def back_up_stopped(data: Path, target: Path) -> Report:
    """Write a backup of a directory that no server uses.

    Raises:
        ConfigError: its files are damaged, or the backup cannot be written.
    """
    damage, found = _examined(_require_data(data))
    if damage:
        raise ConfigError(f"{'; '.join(damage)}; a backup of it would be damaged as well")
    write_snapshot(target, found._replace(files=pki_files(data)))
    return report_of(found)


def repair(data: Path) -> Report:
    """Put what is readable of a damaged data file in its place, and keep the damaged one under another name.

    Raises:
        ConfigError: a server is using it, or nothing of it is readable.
    """
    path = _require_data(data)
    require_stopped(path)
    saved = salvage(path)
    contents = Contents(max(saved.newest, reached(path)) + BUMP, saved.records, {})
    draft = path.with_name(path.name + "-repaired")
    write_snapshot(draft, contents)
    put_aside(path)
    draft.replace(path)
    return report_of(contents)


def _examined(path: Path) -> tuple[list[str], Contents]:
    """What is wrong with a data file, and what can be read of it."""
    damage: list[str] = []
    try:
        _try_start(path)
    except ConfigError as refusal:
        damage.append(str(refusal))
    try:
        saved = salvage(path)
    except ConfigError as refusal:
        return [*damage, str(refusal)], Contents(0, [], {})
    return damage, Contents(saved.newest, saved.records, {})


def _try_start(path: Path) -> None:
    """Load a copy of the files as a server would: what it says about them is the refusal of a start."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".check-") as folder:
        copy = Path(folder) / path.name
        for file, to in ((path, copy), (wal_path(path), wal_path(copy)), (mark_path(path), mark_path(copy))):
            if file.exists():
                shutil.copy(file, to)
        try:
            load(copy, "OFF", 0.0, SEALED).database.close()
        except ConfigError as refusal:
            raise ConfigError(str(refusal).replace(folder, str(path.parent))) from None


async def check_running(store: Store) -> Report:
    """Read every record of the file of a running server, a few at a time between its writes."""
    damage = [store.trouble] if store.trouble else []
    keys: Counter[str] = Counter()
    objects = {name: len(rows) for name, rows in store.snapshot().rows.items() if rows}
    try:
        await store.work(Database.check_structure)
        damage += await _read_all(store, keys)
    except ConfigError as refusal:
        damage.append(str(refusal))
    return Report(store.revision, dict(sorted(objects.items())), damage, dict(sorted(keys.items())))


async def _read_all(store: Store, keys: Counter[str]) -> list[str]:
    """What is wrong with single records; compaction moves on meanwhile, so only their checksums count."""
    after, wrong = 0, Survey(0, 0, 0)
    while True:
        records = await store.work(partial(_chunk, after))
        for record in records:
            if isinstance(record, Stored):
                keys[key_name(record.value)[0]] += 1
            else:
                wrong.damaged(record)
        if len(records) < CHUNK:
            return wrong.damaged_words()
        after = records[-1][0]


def _chunk(after: int, database: Database) -> list[Any]:
    return list(database.replay(after, CHUNK))


def _require_data(data: Path) -> Path:
    path = data / DATABASE
    if not path.exists():
        lost = f", though {mark_path(path).name} says that it was there" if mark_path(path).exists() else ""
        raise ConfigError(f"there is no data of a server in {data}: {path.name} is missing{lost}")
    return path
