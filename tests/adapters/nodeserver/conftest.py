from collections.abc import AsyncIterator

import aiohttp
import pytest
from tests.adapters.nodeserver.stage import Stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """An endpoint that lets everybody do everything they are allowed to."""
    async with Stage().serving() as made:
        yield made


@pytest.fixture
async def client(stage: Stage) -> AsyncIterator[aiohttp.ClientSession]:
    """The API server's client."""
    connector = aiohttp.TCPConnector(ssl=stage.admin())
    async with aiohttp.ClientSession(stage.url, connector=connector) as session:
        yield session
