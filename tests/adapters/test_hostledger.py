"""The ledger of a host in a file: one agent at a time, and a crash leaves the old content."""

import asyncio
import contextlib
import fcntl
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from flexlet.adapters.hostledger import LedgerFile
from flexlet.errors import HostError

pytestmark = pytest.mark.slow


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


CLAIMS = """
import asyncio, itertools, sys, time
from pathlib import Path
from flexlet.adapters.hostledger import LedgerFile
from flexlet.core.shares import ledger
from flexlet.core.shares.ledger import Claim

WHOLE = {"cpu": 60000, "memory": 1 << 38}

async def claims(path, me):
    book = LedgerFile(Path(path))
    for cpu in itertools.cycle((60000, 20000, 45000, 0)):
        claim = Claim(agent=me, whole=WHOLE, wanted={"cpu": cpu, "memory": 0})
        await book.change(lambda raw: ledger.claimed(raw, claim, time.time())[0])
        print(me, flush=True)

asyncio.run(claims(*sys.argv[1:]))
"""
KILLS = 3


@contextlib.contextmanager
def claiming(path: Path, agent: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that wants more and less of the host, as quickly as it can."""
    command = [sys.executable, "-c", CLAIMS, str(path), agent]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def granted(path: Path) -> int:
    """CPUs that all have together, as anybody may read it at any moment."""
    return sum(share["effective"]["cpu"] for share in msgspec.json.decode(path.read_bytes()).values())


def test_processes_that_are_killed_leave_a_ledger_that_others_go_on_with(tmp_path: Path) -> None:
    """Two agents, one of which dies again and again: never more than there is, never half a file."""
    path = tmp_path / "ledger.json"
    sums: list[int] = []
    with claiming(path, "steady") as steady:
        assert steady.stdout is not None
        steady.stdout.readline()
        for number in range(KILLS):
            with claiming(path, "mortal") as mortal:
                assert mortal.stdout is not None
                for _ in itertools.repeat(None, 20 + number):
                    mortal.stdout.readline()
                    sums.append(granted(path))
            assert steady.stdout.readline() == "steady\n"
    assert 0 < max(sums) <= 60_000
    assert set(msgspec.json.decode(path.read_bytes())) == {"steady", "mortal"}
