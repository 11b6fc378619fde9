from collections.abc import AsyncIterator

import pytest
from tests.apiserver.rest.world import World

from flexlet.apiserver.store import Store


@pytest.fixture
async def world() -> AsyncIterator[World]:
    store = await Store.open(None)
    yield World(store)
    await store.close()
