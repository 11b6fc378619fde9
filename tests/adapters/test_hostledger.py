"""The ledger of a host in a file: one agent at a time, and a crash leaves the old content."""

import asyncio
import fcntl
from pathlib import Path

import pytest

from flexlet.adapters.hostledger import LedgerFile
from flexlet.errors import HostError


def plus_one(raw: bytes | None) -> bytes:
    return str(int(raw or b"0") + 1).encode()


async def test_many_agents_count_together(tmp_path: Path) -> None:
    path = tmp_path / "run" / "ledger.json"
    await asyncio.gather(*(LedgerFile(path).change(plus_one) for _ in range(20)))
    assert path.read_bytes() == b"20"


async def test_who_fails_changes_nothing(tmp_path: Path) -> None:
    book = LedgerFile(tmp_path / "ledger.json")
    await book.change(plus_one)

    def fail(_: bytes | None) -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await book.change(fail)
    await book.change(plus_one)
    assert (tmp_path / "ledger.json").read_bytes() == b"2"


async def test_a_lock_that_is_held_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    with (tmp_path / "ledger.json.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(HostError, match="locked by another agent"):
            await LedgerFile(path, patience_s=0).change(plus_one)
    await LedgerFile(path).change(plus_one)
    assert path.read_bytes() == b"1"


async def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HostError, match="cannot change the host's ledger"):
        await LedgerFile(tmp_path / "file" / "ledger.json").change(plus_one)
