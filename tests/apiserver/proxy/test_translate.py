"""A client's WebSocket channels become the node's SPDY streams, and back."""

import asyncio
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
from flexlet.apiserver.auth.kubeletclient import KubeletClient
from flexlet.apiserver.auth.pki import Pki, open_pki
from flexlet.apiserver.proxy import translate
from flexlet.apiserver.proxy.pods import PodProxy
from flexlet.apiserver.proxy.spdy import frames
from flexlet.apiserver.proxy.spdy.headers import HeaderBlocks, dictionary
from flexlet.apiserver.proxy.trust import NodeTrust

SUCCESS = b'{"metadata":{},"status":"Success"}'


class SpdyNode:
    """Echoes what comes on stdin when stdin is closed, tells the size it was given, then how it ended."""

    def __init__(self) -> None:
        self.heads: list[str] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        if "/portForward/" in self.heads[-1]:
            return await self._echo(reader, writer)
        if "gone" in self.heads[-1]:
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nlost")
            writer.close()
            return None
        writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
            b"X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n"
        )
        return await self._session(reader, writer)

    async def _session(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        blocks, streams, said = HeaderBlocks(), {}, b""
        while True:
            frame = await frames.read(reader)
            if isinstance(frame, frames.Control):
                kind = blocks.read(frame.payload[10:])["streamtype"]
                streams[kind] = frame.stream
                writer.write(frames.pong(b"\0\0\0\2"))
            elif frame.stream == streams.get("resize"):
                said += b"size " + frame.payload + b" "
            elif frame.stream == streams.get("stdin"):
                said += frame.payload
                if frame.last:
                    break
        writer.write(frames.data(streams["stdout"], said))
        writer.write(frames.data(streams["stdout"], b"", last=True))
        writer.write(frames.data(streams["error"], SUCCESS, last=True))
        await writer.drain()
        writer.close()

    @staticmethod
    async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\n")
        while data := await reader.read(100):
            writer.write(data.upper())
        writer.close()


class FakeView:
    """A pod `web` and a pod `gone` on one node, whose own address leads nowhere."""

    def __init__(self, port: int) -> None:
        self.port = port

    def get(self, bucket: str, namespace: str, name: str) -> dict[str, Any] | None:
        if bucket == "nodes":
            addresses = [{"type": "InternalIP", "address": "192.0.2.1"}]
            port = {"kubeletEndpoint": {"Port": self.port}}
            return {"metadata": {"name": name}, "status": {"addresses": addresses, "daemonEndpoints": port}}
        spec = {"containers": [{"name": "a"}], "nodeName": "n1"}
        return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}

    def list(self, bucket: str, namespace: str = "") -> Iterator[dict[str, Any]]:
        del bucket, namespace
        return iter(())


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return open_pki(tmp_path / "pki", ["127.0.0.1"], time.time())


@pytest.fixture
async def node(pki: Pki) -> AsyncIterator[tuple[SpdyNode, int]]:
    behind, pair = SpdyNode(), node_pair(pki, "n1")
    context = tls.serving_context(pair.certificate_pem, pair.key_pem, pki.ca_pem.encode())
    server = await asyncio.start_server(behind.handle, "127.0.0.1", 0, ssl=context)
    async with server:
        yield behind, server.sockets[0].getsockname()[1]


@pytest.fixture
async def front(pki: Pki, node: tuple[SpdyNode, int]) -> AsyncIterator[str]:
    trust = NodeTrust(pki.ca_pem, KubeletClient(pki, time.time).pair)
    proxy = PodProxy(FakeView(node[1]), trust, {"n1": "127.0.0.1"})

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


async def received(url: str, protocol: str, *messages: bytes) -> list[bytes]:
    async with aiohttp.ClientSession() as session, session.ws_connect(url, protocols=[protocol]) as socket:
        assert socket.protocol == protocol
        for message in messages:
            await socket.send_bytes(message)
        return [message.data async for message in socket]


async def test_input_ends_when_the_client_closes_its_channel(front: str, node: tuple[SpdyNode, int]) -> None:
    """``echo hi | kubectl exec -i``: the frame [255, 0] reaches the node as the end of stdin."""
    url = f"{front}/web/exec?command=cat&stdin=true&stdout=true"
    told = await received(url, "v5.channel.k8s.io", b"\x00hi ", b"\x00there", b"\xff\x00")
    assert told == [b"\x01", b"\x01hi there", b"\x03" + SUCCESS]
    head = node[0].heads[0].split("\r\n")
    assert head[0] == "POST /exec/default/web/a?input=1&output=1&command=cat HTTP/1.1"
    assert "Upgrade: SPDY/3.1" in head
    assert "X-Stream-Protocol-Version: v4.channel.k8s.io" in head


async def test_a_terminal_tells_its_size(front: str) -> None:
    """With a terminal there is a channel for its size and none for stderr."""
    url = f"{front}/web/exec?command=sh&stdin=true&stdout=true&stderr=true&tty=true"
    told = await received(url, "v5.channel.k8s.io", b'\x04{"Width":80}', b"\x00x", b"\xff\x00")
    assert told == [b"\x01", b'\x01size {"Width":80} x', b"\x03" + SUCCESS]


async def test_port_forwarding_is_a_tunnel(front: str) -> None:
    """What the client wraps into messages are the bytes of the node's connection."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{front}/web/portforward", protocols=["SPDY/3.1+portforward.k8s.io"]) as socket,
    ):
        await socket.send_bytes(b"abc")
        assert (await socket.receive()).data == b"ABC"


async def test_what_the_node_refuses_is_refused(front: str) -> None:
    """An upgrade that the node declines is an ordinary error."""
    url = f"{front}/gone/exec?command=cat&stdout=true"
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await received(url, "v5.channel.k8s.io")
    assert refused.value.status == 404


def test_channels_follow_the_request() -> None:
    """The error channel is always there; a terminal has no stderr of its own."""
    assert translate.channels({"stdout": ["true"]}) == (3, 1)
    assert translate.channels({"stdin": ["true"], "stdout": ["1"], "stderr": ["true"]}) == (3, 0, 1, 2)
    everything = {name: ["true"] for name in ("stdin", "stdout", "stderr", "tty")}
    assert translate.channels(everything) == (3, 0, 1, 4)


def test_the_dictionary_is_the_protocols() -> None:
    """Its length and ends are those of the SPDY/3 document."""
    words = dictionary()
    assert (len(words), words[:11], words[-4:]) == (1423, b"\x00\x00\x00\x07options", b"q=0.")
