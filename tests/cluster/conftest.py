"""A real kubectl against a flexlet; every test runs with the one that was built and the one on PATH."""

import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests import servers
from tests.cluster import kubectl as real
from tests.cluster.kubectl import Kubectl, Program
from tests.servers import Running

_numbers = itertools.count()
_find = functools.cache(real.find)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip here and not in a fixture: then pytest folds all skips into one line that says what is missing."""
    called = getattr(item, "callspec", None)
    which = called.params.get("program") if called else None
    if which and _find(which) is None:
        other = _find("built") or _find("installed")
        pytest.skip(f"the {which} kubectl is missing; the other one runs" if other else real.NEED)


@pytest.fixture(params=["built", "installed"])
def program(request: pytest.FixtureRequest) -> Program:
    found = _find(request.param)
    assert found is not None
    return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    """An API server of the test's own."""
    with servers.flexlet(tmp_path, "server") as running:
        yield running


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A whole cluster with three simulated nodes, shared by a module."""
    with servers.flexlet(tmp_path_factory.mktemp("up"), "up", "--node", "hollow=3") as running:
        yield running


@pytest.fixture
def connect(program: Program, tmp_path: Path) -> Callable[[Path, str], Kubectl]:
    """Makes a kubectl for a kubeconfig and a namespace."""

    def make(kubeconfig: Path, namespace: str) -> Kubectl:
        return Kubectl(program, kubeconfig, tmp_path / f"home-{next(_numbers)}", namespace)

    return make


@pytest.fixture
def kubectl(up: Running, connect: Callable[[Path, str], Kubectl]) -> Iterator[Kubectl]:
    """A kubectl in a fresh namespace of the whole cluster, whose nodes are ready."""
    namespace = f"test-{next(_numbers)}"
    made = connect(up.kubeconfig, namespace)
    made(f"create namespace {namespace}")
    made("wait --for=create serviceaccount/default --timeout=20s")
    made("wait --for=condition=Ready node --all --timeout=20s")
    yield made
    made(f"delete namespace {namespace} --wait=false")
