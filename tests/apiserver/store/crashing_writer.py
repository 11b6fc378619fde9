"""Writes as fast as it can and says so: one line `key revision deleted` per acknowledged write.

Run by test_kill.py, which ends it with SIGKILL at random moments. History is kept short, so that kills hit
compaction as well. Each of the writers owns its keys and creates, changes and deletes them in turn.
"""

import asyncio
import itertools
import os
import random
import sys
from pathlib import Path

from flexlet.apiserver.store import Options, Row, Store

WRITERS = 16
KEYS_PER_WRITER = 5


def encode(revision: int) -> bytes:
    return b"%d:" % revision + b"x" * random.randrange(5000)  # noqa: S311  any size will do


async def step(store: Store, key: str) -> tuple[Row, bool]:
    current = store.get("pods", key)
    if current is None:
        return await store.create("pods", key, encode), False
    if random.random() < 0.2:  # noqa: S311
        return await store.delete("pods", key, current.revision, encode), True
    return await store.update("pods", key, current.revision, encode), False


async def write(store: Store, writer: int) -> None:
    for number in itertools.cycle(range(KEYS_PER_WRITER)):
        key = f"ns-{writer}/pod-{number}"
        row, deleted = await step(store, key)
        os.write(1, f"{key} {row.revision} {int(deleted)}\n".encode())


async def main(path: Path) -> None:
    store = await Store.open(path, Options(history_events=300))
    os.write(1, f"open {store.revision} 0\n".encode())
    await asyncio.gather(*(write(store, writer) for writer in range(WRITERS)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
