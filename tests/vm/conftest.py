"""The shared machine as a fixture, and its logs in the report of a test that failed."""

import functools
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from tests.vm.machine import Vm, booted
from tests.vm.node import Hands, Node, up

from flexlet.adapters import image
from flexlet.core.lab.spec import MachineSpec

_missing = functools.cache(image.missing_tools)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Skip here and not in a fixture: then pytest folds all skips into one line that says what is missing."""
    if _missing():
        pytest.skip(f"needs the Debian packages {', '.join(_missing())}: `flexlet lab image build --install`")


@pytest.fixture(scope="session")
def vm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vm]:
    """A machine with 2 of 8 CPUs and 2 of 16 GiB; tests leave it as they found it."""
    with booted(tmp_path_factory.mktemp("vm"), MachineSpec("vm")) as machine:
        yield machine


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A cluster with its node in a machine of that size; tests delete the pods they made."""
    with up(tmp_path_factory.mktemp("up")) as running:
        yield running


@pytest_asyncio.fixture
async def hands(node: Node) -> AsyncIterator[Hands]:
    """What a test can do with that cluster."""
    async with node.hands() as connected:
        yield connected


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Add the ends of the machine's logs to the report of a failure."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    fixtures = getattr(item, "funcargs", {})
    machine = fixtures["node"].vm if "node" in fixtures else fixtures.get("vm")
    if report.failed and isinstance(machine, Vm):
        try:
            report.sections.extend((f"vm: {name}", text) for name, text in machine.logs().items())
        except Exception as error:  # noqa: BLE001 a machine that is broken has no logs; the failure itself counts
            report.sections.append(("vm", f"no logs: {error}"))
    return report  # type: ignore[return-value]
