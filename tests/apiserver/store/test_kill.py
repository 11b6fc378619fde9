"""`kill -9` under load: nothing acknowledged is lost, and the file is whole."""

import os
import random
import select
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.campaign import length

from flexlet.apiserver.store import Event
from flexlet.apiserver.store.replay import load

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CHILD = Path(__file__).with_name("crashing_writer.py")
ROUNDS = length(60, 200)


class Promise(NamedTuple):
    """The child was told that this write is durable."""

    key: str
    revision: int
    deleted: bool


def write_until_killed(path: Path, seconds: float) -> list[Promise]:
    """Let a child write for a while after it opened the store, kill it, return what it was promised."""
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    with subprocess.Popen([sys.executable, CHILD, path], env=environment, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert select.select([child.stdout], [], [], 30)[0], "the child never opened its store"
        output = b""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([child.stdout], [], [], 0.005)[0]:
                output += os.read(child.stdout.fileno(), 1 << 16)
        child.kill()
        output += child.stdout.read()
    lines = output.decode().rpartition("\n")[0].splitlines()
    return [Promise(key, int(revision), deleted == "1") for key, revision, deleted in map(str.split, lines)]


class Ledger:
    """Everything promised so far, compared with the file after each kill."""

    def __init__(self) -> None:
        self.newest = 0
        self.last: dict[str, Promise] = {}

    def verify(self, path: Path, promises: list[Promise]) -> None:
        """Each promise is on record, or was replaced and compacted; each key is where it was left or newer."""
        loaded = load(path, "FULL", 0.0)  # refuses gaps and broken chains by itself
        rows, compacted = loaded.buckets["pods"].rows, loaded.database.compacted
        history = {event.row.revision: event for event in loaded.buckets["pods"].history}
        loaded.database.close()
        for promise in promises:
            assert promise.revision <= loaded.revision
            if promise.revision > compacted:
                assert made_by(history[promise.revision]) == promise
            self.last[promise.key] = promise
        removed = {event.row.key for event in history.values() if event.type == "DELETED"}
        for key, last in self.last.items():
            row = rows.get(key)
            if row is None:
                # A deletion nobody heard of happened just before the kill and cannot be compacted yet.
                assert last.deleted or key in removed
                self.last[key] = Promise(key, last.revision, deleted=True)
            else:
                assert row.revision > last.revision or (row.revision, False) == last[1:]
                assert row.value.startswith(b"%d:" % row.revision)
                self.last[key] = Promise(key, row.revision, deleted=False)
        self.newest = loaded.revision


def made_by(event: Event) -> Promise:
    return Promise(event.row.key, event.row.revision, event.type == "DELETED")


def integrity(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()


def test_killed_at_any_moment_nothing_acknowledged_is_lost(path: Path) -> None:
    """After every kill every promise is kept, revisions are gapless and never step back."""
    moments = random.Random()  # noqa: S311  other moments on every run, on purpose
    ledger = Ledger()
    total = 0
    for _ in range(ROUNDS):
        opened, *promises = write_until_killed(path, moments.uniform(0.02, 0.4))
        assert opened.revision == ledger.newest
        ledger.verify(path, promises)
        total += len(promises)
    assert total > ROUNDS
    assert integrity(path) == "ok"
