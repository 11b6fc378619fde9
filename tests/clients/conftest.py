"""One flexlet server per module, reached with the kubeconfig that it wrote."""

import itertools
from collections.abc import Iterator

import pytest
from tests import servers
from tests.servers import Running

_numbers = itertools.count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with servers.flexlet(tmp_path_factory.mktemp("server"), "server") as running:
        yield running


@pytest.fixture
def name() -> str:
    """A name no other test of this process uses."""
    return f"client-{next(_numbers)}"
