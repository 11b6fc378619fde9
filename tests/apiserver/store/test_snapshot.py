"""A snapshot gives back what was put into it, or says what is damaged."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from flexlet.apiserver.store.database import Stored
from flexlet.apiserver.store.snapshot import Contents, read_snapshot, write_snapshot
from flexlet.errors import ConfigError

RECORDS = [
    Stored(3, 0, deleted=False, bucket="pods", key="ns/a", value=b"{}"),
    Stored(7, 0, deleted=False, bucket="secrets", key="ns/s", value=b"x" * 9_000),
]
FILES = {"pki/ca.crt": b"certificate", "pki/ca.key": b"\x00key"}


@pytest.mark.parametrize("files", [{}, FILES])
def test_what_is_written_is_read(tmp_path: Path, files: dict[str, bytes]) -> None:
    path = tmp_path / "backup"
    write_snapshot(path, Contents(9, RECORDS, files))
    assert read_snapshot(path) == Contents(9, RECORDS, files)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_damaged_file_of_a_snapshot_is_told(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    write_snapshot(path, Contents(9, RECORDS, FILES))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE files SET content = ? WHERE name = ?", (b"other", "pki/ca.key"))
    with pytest.raises(ConfigError) as refused:
        read_snapshot(path)
    text = "1 of its records are damaged and 0 are missing; use another backup"
    assert str(refused.value) == f"cannot use backup {path}: {text}"
