"""A real kube-apiserver and kubectl in front of the node's endpoint: logs, exec and port-forward."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from bench import controlplane
from bench.controlplane import ControlPlane
from tests.adapters.nodeserver import spdyruntime
from tests.adapters.nodeserver.stage import FakeCgroups, FakeRuntime, FakeViews, streaming_server, write_log
from tests.cluster.kubectl import Kubectl

from flexlet.adapters.clock import SystemClock
from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.client import HttpCluster
from flexlet.adapters.kube.kubeconfig import Credentials
from flexlet.adapters.meters import Ledger
from flexlet.adapters.nodeserver import tls
from flexlet.adapters.nodeserver.endpoint import Endpoint
from flexlet.adapters.nodeserver.server import NodeServer
from flexlet.adapters.nodeserver.settings import Settings
from flexlet.api.status import ApiError
from flexlet.ports.cluster import NAMESPACES, NODES, PODS

LACKING = controlplane.missing()
pytestmark = [pytest.mark.cluster, pytest.mark.skipif(bool(LACKING), reason=LACKING)]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with controlplane.control_plane("--disable-admission-plugins=ServiceAccount") as running:
        yield running


@pytest.fixture
async def node(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[FakeRuntime]:
    """The endpoint of node n1 with the pod ``web``, known to the API server."""
    runtime, views = FakeRuntime(), FakeViews()
    views.log_path = str(tmp_path / "0.log")
    write_log(tmp_path / "0.log", "one", "two")
    own, serving = plane.client("system:node:n1", "system:nodes"), plane.serving()
    credentials = Credentials(
        server=plane.url,
        ca=plane.ca,
        certificate=own.certificate_pem,
        key=own.key_pem,
    )
    settings = Settings(node_name="n1", address="127.0.0.1", port=0, health_port=0)
    context = tls.serving_context(serving.certificate_pem, serving.key_pem, plane.ca)
    async with HttpCluster(credentials) as cluster:
        endpoint = Endpoint(settings, views, runtime, FakeCgroups(), cluster, Ledger(), SystemClock())  # type: ignore[arg-type]
        server = NodeServer.open(settings, endpoint, context)
        serving_task = asyncio.create_task(server.serve())
        await tell(plane, server.port)
        async with streaming_server(spdyruntime.talk) as runtime.url:
            yield runtime
        serving_task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving_task


async def tell(plane: ControlPlane, port: int) -> None:
    """Make the node and its pod, or move the node to another port."""
    async with HttpCluster(kubeconfig.load(plane.kubeconfig)) as admin, asyncio.timeout(60):
        while True:
            with contextlib.suppress(ApiError):
                await admin.get(NAMESPACES, "", "default")
                break
            await asyncio.sleep(0.2)
        container = {"name": "app", "image": "none", "stdin": True}
        pod = {"containers": [container], "nodeName": "n1"}
        with contextlib.suppress(ApiError):
            await admin.create(NODES, "", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
            body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": pod}
            await admin.create(PODS, "default", body)
            await admin.patch(PODS, "default", "web", {"status": {"phase": "Running"}}, subresource="status")
        address = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        await admin.patch(NODES, "", "n1", {"status": address}, subresource="status")


@pytest.fixture
def kubectl(plane: ControlPlane, connect: Callable[[Path, str], Kubectl]) -> Kubectl:
    return connect(plane.kubeconfig, "default")


async def test_logs(node: FakeRuntime, kubectl: Kubectl) -> None:
    assert await asyncio.to_thread(kubectl, "logs web --tail=1") == "two\n"
    assert node.calls == []


@pytest.mark.parametrize("protocol", ["true", "false"])
async def test_exec(node: FakeRuntime, kubectl: Kubectl, protocol: str) -> None:
    """Input that ends, over WebSockets as kubectl speaks them now and over SPDY as it did before."""
    command = f"export KUBECTL_REMOTE_COMMAND_WEBSOCKETS={protocol}; kubectl exec -i web -- tr a-z A-Z"
    answer = await asyncio.to_thread(kubectl.run, command, "hi there\n")
    assert answer == (0, "HI THERE\n", "done\n")
    asked = {"stdin": True, "stdout": True, "stderr": True, "tty": False}
    assert node.calls == [("exec", "c1", ["tr", "a-z", "A-Z"], asked)]


@pytest.mark.parametrize("protocol", ["true", "false"])
async def test_port_forward(node: FakeRuntime, kubectl: Kubectl, protocol: str) -> None:
    kubectl._environment["KUBECTL_PORT_FORWARD_WEBSOCKETS"] = protocol
    forwarding = await asyncio.to_thread(kubectl.popen, "port-forward pod/web :80")
    assert forwarding.stdout is not None
    try:
        line = await asyncio.to_thread(forwarding.stdout.readline)
        port = int(line.split(":")[1].split(" ")[0])
        assert await asyncio.to_thread(_ask, port, b"abc") == b"cba"
    finally:
        forwarding.terminate()
        await asyncio.to_thread(forwarding.wait)
        forwarding.stdout.close()
    assert node.calls == [("portForward", "s1", [])]


def _ask(port: int, question: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 20) as connection:
        connection.sendall(question)
        return connection.recv(100)
