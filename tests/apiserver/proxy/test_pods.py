"""Bytes go through: logs as a stream, exec as frames both ways, over TLS with a client certificate."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from tests.apiserver.proxy.nodepairs import node_pair

from flexlet.adapters.nodeserver import tls
from flexlet.api import status
from flexlet.apiserver.auth import certificates
from flexlet.apiserver.auth.certificates import Credential
from flexlet.apiserver.auth.kubeletclient import KubeletClient
from flexlet.apiserver.auth.pki import Pki, open_pki
from flexlet.apiserver.proxy.pods import PodProxy
from flexlet.apiserver.proxy.trust import REMEDY, NodeTrust


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
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


async def node_redirects(request: web.Request) -> web.StreamResponse:
    SEEN.append(request.path)
    raise web.HTTPFound("/containerLogs/default/web/a")


SEEN: list[str] = []


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
                "metadata": {"name": name},
                "status": {
                    "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                    "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
                },
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
    del tmp_path
    async with fronted(pki, node_pair(pki, "n1")) as url:
        yield url


def context(pair: Credential, pki: Pki) -> ssl.SSLContext:
    return tls.serving_context(pair.certificate_pem, pair.key_pem, pki.ca_pem.encode())


@contextlib.asynccontextmanager
async def fronted(pki: Pki, pair: Credential) -> AsyncIterator[str]:
    """The same with a node that shows `pair`; all nodes were started by this server, and are on this machine."""
    node = web.Application()
    node.router.add_get("/containerLogs/default/web/a", node_logs)
    node.router.add_get("/containerLogs/default/gone/a", node_refuses)
    node.router.add_get("/exec/default/web/a", node_exec)
    node.router.add_get("/containerLogs/default/moved/a", node_redirects)
    node.router.add_get("/exec/default/moved/a", node_redirects)
    node_runner, port = await serve(node, context(pair, pki))
    trust = NodeTrust(pki.ca_pem, KubeletClient(pki, time.time).pair)
    proxy = PodProxy(FakeView(port), trust, {"n1": "127.0.0.1", "away": "127.0.0.1"})

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


async def test_a_node_that_redirects_is_not_followed(front: str) -> None:
    """Neither for a log nor for a stream: each request reaches the node once."""
    SEEN.clear()
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{front}/moved/log") as answer:
            body = await answer.json()
        assert (answer.status, body["message"]) == (500, "the node answered 302, which is no log")
        with pytest.raises(aiohttp.WSServerHandshakeError, match="500"):
            await session.ws_connect(f"{front}/moved/exec?command=ls&stdout=1", protocols=["v4.channel.k8s.io"])
    assert SEEN == ["/containerLogs/default/moved/a", "/exec/default/moved/a"]


@pytest.mark.parametrize(
    ("whose", "reason"),
    [
        ("self-signed", "self-signed certificate"),
        ("server", "the certificate is that of kube-apiserver, not of system:node:n1"),
        ("other", "the certificate is that of system:node:n2, not of system:node:n1"),
        ("nameless", "Hostname mismatch, certificate is not valid for 'n1'."),
    ],
)
@pytest.mark.parametrize("ask", ["log", "v4.channel.k8s.io", "v5.channel.k8s.io", "SPDY/3.1+portforward.k8s.io"])
async def test_only_the_node_itself_is_sent_anything(pki: Pki, whose: str, reason: str, ask: str) -> None:
    """Not somebody without a certificate of the cluster, not this server, not another node, under any protocol."""
    async with fronted(pki, impostor(pki, whose)) as front, aiohttp.ClientSession() as session:
        verb = {"log": "log", "SPDY/3.1+portforward.k8s.io": "portforward"}.get(ask, "exec")
        url = f"{front}/web/{verb}?command=ls&stdout=1&ports=80"
        headers = {} if ask == "log" else {"Upgrade": "websocket", "Connection": "Upgrade"}
        headers |= {} if ask == "log" else {"Sec-WebSocket-Protocol": ask, "Sec-WebSocket-Version": "13"}
        async with session.get(url, headers=headers) as answer:
            body = await answer.json()
    assert answer.status == 500
    assert "cannot verify the node's certificate: " in body["message"]
    assert body["message"].endswith(f"{reason}; {REMEDY}")


def impostor(pki: Pki, whose: str) -> Credential:
    match whose:
        case "self-signed":
            return certificates.new_authority("system:node:n1", time.time())
        case "server":
            return certificates.issue_serving(pki.authority, ("n1", "127.0.0.1"), time.time(), 1)
        case "other":
            return node_pair(pki, "n2", "n1")
        case _:
            return node_pair(pki, "n1", "elsewhere")


async def test_a_certificate_of_another_authority_that_was_named(pki: Pki) -> None:
    """It must be good for the name; whose subject it has is that authority's business."""
    other = certificates.new_authority("other", time.time())
    app = web.Application()
    app.router.add_get("/containerLogs/default/web/a", node_logs)
    pair = certificates.issue_serving(other, ("n1",), time.time(), 1)
    runner, port = await serve(app, context(pair, pki))
    trust = NodeTrust(other.certificate_pem.decode(), KubeletClient(pki, time.time).pair, is_cluster_ca=False)
    assert await _handshakes(trust, port, "n1") == ""
    assert "Hostname mismatch" in await _handshakes(trust, port, "n2")
    await runner.cleanup()


async def _handshakes(trust: NodeTrust, port: int, name: str) -> str:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust.context(name), server_hostname=name)
    except ssl.SSLError as error:
        return str(error)
    writer.close()
    return ""
