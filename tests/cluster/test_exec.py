"""Our own client of ``pods/exec``, and a line to a launcher, through a real kube-apiserver 1.36.3."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import pytest
from bench import controlplane
from bench.controlplane import ControlPlane
from tests.adapters.kube.fakenode import FakeNode, Running, failed, register
from tests.adapters.vmlink.test_execlink import GROWS, SMALL, Launcher

from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.client import HttpCluster
from flexlet.adapters.kube.exec import Exec
from flexlet.adapters.kube.execstatus import STDERR, STDOUT, V5
from flexlet.adapters.nodeserver import tls
from flexlet.adapters.vmlink.execlink import ExecLinks
from flexlet.api.status import ApiError, NotFound
from flexlet.core.vm.guest import PowerDown, Report
from flexlet.errors import HypervisorGone
from flexlet.ports.cluster import NAMESPACES

LACKING = controlplane.missing()
pytestmark = [pytest.mark.cluster, pytest.mark.skipif(bool(LACKING), reason=LACKING)]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with controlplane.control_plane("--disable-admission-plugins=ServiceAccount") as running:
        yield running


@pytest.fixture
async def node(plane: ControlPlane) -> AsyncIterator[FakeNode]:
    """A node behind it, with the pod ``db``, that runs what a test gives it."""
    made, pair = FakeNode(plane.kubeconfig), plane.serving()
    context = tls.serving_context(pair.certificate_pem, pair.key_pem, plane.ca)
    listener = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=context)
    async with listener, HttpCluster(kubeconfig.load(plane.kubeconfig)) as admin, asyncio.timeout(60):
        await _wait_for_namespace(admin)
        await register(admin, listener.sockets[0].getsockname()[1])
        yield made


async def _wait_for_namespace(admin: HttpCluster) -> None:
    while True:
        with contextlib.suppress(ApiError):
            await admin.get(NAMESPACES, "", "default")
            return
        await asyncio.sleep(0.2)


async def shouts(running: Running) -> bytes:
    async for piece in running.input():
        await running.say("stdout", piece.upper())
    await running.say("stderr", b"over\n")
    return failed(7)


async def test_commands_lines_and_refusals(node: FakeNode) -> None:
    """Input both ways and its end, exit codes, refusals in the server's words; then orders and reports."""
    node.program = shouts
    async with Exec(node.credentials()) as client:
        async with client.start("default", "db", "compute", ["cat", "a b"]) as process:
            assert process._socket.protocol == V5
            output = process.output()
            for piece in (b"one", b"two"):
                await process.write(piece)
                assert await anext(output) == (STDOUT, piece.upper())
            await process.end_input()
            assert [piece async for piece in output] == [(STDERR, b"over\n")]
            assert process.exit_code() == 7
        with pytest.raises(NotFound, match='pods "gone" not found'):
            await client.start("default", "gone", "compute", ["ls"]).__aenter__()
    assert node.asked == [("/exec/default/db/compute", ["cat", "a b"])]

    node.program = launcher = Launcher()
    links = ExecLinks(node.credentials)
    async with links.open("default", "db") as link:
        reports = link.reports()
        assert await anext(reports) == SMALL
        await link.order(GROWS)
        assert (await anext(reports)).vcpus == 8
        await link.order(PowerDown())
        assert [each async for each in reports] == [Report(run_state="Ended", exit_code=0)]
    assert launcher.orders == [GROWS, PowerDown()]

    async def breaks(running: Running) -> bytes | None:
        await running.say("stdout", b"")
        return None

    node.program = breaks
    async with links.open("default", "db") as link:
        with pytest.raises(HypervisorGone, match="no line to the launcher in default/db"):
            await anext(link.reports())
