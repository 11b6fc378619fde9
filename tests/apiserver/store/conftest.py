from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from blockbuster import BlockBuster, blockbuster_ctx

from flexlet.apiserver.store import Store


@pytest.fixture(autouse=True)
def loop_stays_free() -> Iterator[BlockBuster]:
    """Nothing in the store may block the event loop, SQLite least of all."""
    with blockbuster_ctx() as blockbuster:
        yield blockbuster


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(path)
    yield opened
    await opened.close()
