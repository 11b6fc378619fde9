from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.apiserver.http.client import Client

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver.server import ApiServer, Settings, serving


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ApiServer]:
    """One server per file: starting is quick, but not nothing."""
    data = tmp_path_factory.mktemp("server")
    async with serving(Settings(data=data), SystemClock()) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admin(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    client = Client(server, tmp_path_factory.mktemp("admin"), "admin", ["system:masters"])
    yield client
    await client.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alice(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    client = Client(server, tmp_path_factory.mktemp("alice"), "alice", ["devs"])
    yield client
    await client.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def nobody(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    client = Client(server, tmp_path_factory.mktemp("nobody"), "", [])
    yield client
    await client.close()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path
