"""Bytes go through: logs as a stream, exec as frames both ways, over TLS with a client certificate."""

import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from flexlet.api import status
from flexlet.apiserver.auth.pki import Pki, open_pki
from flexlet.apiserver.proxy.pods import PodProxy


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    import time

    return open_pki(tmp_path / "pki", ["127.0.0.1"], time.time())


async def node_logs(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for line in (b"line 1\n", b"line 2\n", request.query_string.encode()):
        await response.write(line)
    return response


async def node_exec(request: web.Request) -> web.StreamResponse:
    """Echo stdin (channel 0) as stdout (channel 1), then say how it went on channel 3."""
    socket = web.WebSocketResponse(protocols=["v4.channel.k8s.io"])
    await socket.prepare(request)
    peer = request.transport.get_extra_info("peercert") if request.transport else None
    subject = dict(part[0] for part in peer["subject"]) if peer else {}
    await socket.send_bytes(b"\x02" + str(subject.get("commonName")).encode())
    async for message in socket:
        await socket.send_bytes(b"\x01" + message.data[1:])
        break
    await socket.send_bytes(b'\x03{"metadata":{},"status":"Success"}')
    await socket.close()
    return socket


async def node_refuses(request: web.Request) -> web.StreamResponse:
    del request
    return web.Response(status=404, text='container "a" in pod "gone" is not available')


async def serve(app: web.Application, tls: ssl.SSLContext) -> tuple[web.AppRunner, int]:
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    assert runner.addresses
    return runner, runner.addresses[0][1]


class FakeView:
    """Three pods: one on the node, one whose container the node lost, one on a node that is away."""

    def __init__(self, port: int) -> None:
        self.port = port

    def get(self, bucket: str, namespace: str, name: str) -> dict[str, Any] | None:
        if bucket == "nodes":
            port = self.port if name == "n1" else 1
            return {
                "status": {
                    "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                    "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
                }
            }
        if name == "none":
            return None
        node = "away" if name == "away" else "n1"
        return {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"containers": [{"name": "a"}], "nodeName": node},
        }

    def list(self, bucket: str, namespace: str = "") -> Iterator[dict[str, Any]]:
        del bucket, namespace
        return iter(())


@pytest.fixture
async def front(pki: Pki, tmp_path: Path) -> AsyncIterator[str]:
    """A server that hands everything to the proxy, and behind it a node."""
    import time

    node = web.Application()
    node.router.add_get("/containerLogs/default/web/a", node_logs)
    node.router.add_get("/containerLogs/default/gone/a", node_refuses)
    node.router.add_get("/exec/default/web/a", node_exec)
    node_runner, port = await serve(node, pki.server_context())

    def to_node() -> ssl.SSLContext:
        credential = pki.client("kube-apiserver-kubelet-client", ["system:masters"], time.time())
        pair = tmp_path / "pair.pem"
        pair.write_bytes(credential.certificate_pem + credential.key_pem)
        context = ssl.create_default_context(cadata=pki.ca_pem)
        context.load_cert_chain(pair)
        return context

    proxy = PodProxy(FakeView(port), to_node)

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await proxy.serve(request, "default", request.match_info["name"], request.match_info["sub"])
        except status.ApiError as error:
            return web.json_response(status.as_dict(error.status), status=error.code)

    app = web.Application()
    app.router.add_route("*", "/{name}/{sub}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await proxy.close()
    await runner.cleanup()
    await node_runner.cleanup()


async def test_logs_are_streamed(front: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{front}/web/log?tailLines=2") as answer:
        assert (answer.status, await answer.text()) == (200, "line 1\nline 2\ntailLines=2")


async def test_exec_passes_frames_both_ways_as_the_server(front: str) -> None:
    """The node sees the server's own certificate, the client sees the node's frames unchanged."""
    url = f"{front}/web/exec?command=cat&stdin=true&stdout=true"
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(url, protocols=["v4.channel.k8s.io"]) as socket,
    ):
        assert socket.protocol == "v4.channel.k8s.io"
        assert (await socket.receive()).data == b"\x02kube-apiserver-kubelet-client"
        await socket.send_bytes(b"\x00hello")
        assert (await socket.receive()).data == b"\x01hello"
        assert (await socket.receive()).data == b'\x03{"metadata":{},"status":"Success"}'
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("/none/log", 404, 'pods "none" not found'),
        ("/gone/log", 404, 'container "a" in pod "gone" is not available'),
        ("/web/exec?command=ls&stdout=1", 400, "you must upgrade the connection"),
        ("/away/log", 500, "error dialing node 127.0.0.1:1 for containerLogs"),
    ],
)
async def test_refusals_are_statuses(front: str, path: str, code: int, message: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(front + path) as answer:
        body = await answer.json()
    assert answer.status == body["code"] == code
    assert message in body["message"]


async def test_an_unknown_subprotocol_is_refused(front: str) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError, match="400"):
            await session.ws_connect(f"{front}/web/exec?command=ls&stdout=1", protocols=["v1.unknown"])
