from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
from blockbuster import blockbuster_ctx
from tests.adapters.nodeserver.stage import Stage


@pytest.fixture(autouse=True)
def loop_stays_free() -> Iterator[None]:
    """Nothing the endpoint does may block the loop that pods are looked after in."""
    with blockbuster_ctx("flexlet.adapters") as blockbuster:
        for function in blockbuster.functions.values():
            function.can_block_in("nodeserver/tls.py", "serving_context")  # made by tests, not by the endpoint
        yield


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
