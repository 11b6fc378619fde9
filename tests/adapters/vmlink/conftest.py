from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.adapters.kube.fakenode import FakeNode, fake_node


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[FakeNode]:
    async with fake_node(tmp_path) as made:
        yield made
