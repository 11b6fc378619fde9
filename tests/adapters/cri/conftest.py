from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import pytest_asyncio
from tests.adapters.cri.fakeserver import FakeServer, serving

from flexlet.adapters import cri
from flexlet.adapters.cri.runtime import CriRuntime


@pytest.fixture
def socket() -> Iterator[Path]:
    """A path short enough for a unix socket, which pytest's own are not always."""
    with TemporaryDirectory(prefix="cri-") as directory:
        yield Path(directory) / "s"


@pytest.fixture
def server() -> FakeServer:
    return FakeServer()


@pytest_asyncio.fixture
async def runtime(socket: Path, server: FakeServer) -> AsyncIterator[CriRuntime]:
    """The adapter, connected to `server`; the handshake is forgotten."""
    async with serving(socket, server), await cri.connect(f"unix://{socket}", patience_s=10) as connected:
        server.asked.clear()
        yield connected
