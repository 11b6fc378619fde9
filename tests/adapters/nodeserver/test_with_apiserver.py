"""The embedded API server's proxy in front, the endpoint in the middle, a runtime's streaming server behind."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from tests.adapters.nodeserver import spdyruntime
from tests.adapters.nodeserver.stage import Stage, streaming_server, write_log

from flexlet.api import status
from flexlet.apiserver.auth import kubeletclient
from flexlet.apiserver.proxy.pods import PodProxy
from flexlet.apiserver.proxy.trust import NodeTrust


class View:
    """What the API server knows: the pod and where its node is."""

    def __init__(self, port: int) -> None:
        self._port = port

    def get(self, bucket: str, namespace: str, name: str) -> dict[str, Any] | None:
        if bucket == "nodes":
            addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
            endpoint = {"kubeletEndpoint": {"Port": self._port}}
            return {"metadata": {"name": name}, "status": {"addresses": addresses, "daemonEndpoints": endpoint}}
        spec = {"containers": [{"name": "app"}, {"name": "idle"}], "nodeName": "n1"}
        return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}

    def list(self, bucket: str, namespace: str = "") -> Iterator[dict[str, Any]]:
        del bucket, namespace
        return iter(())


@pytest.fixture
async def front(stage: Stage, tmp_path: Path) -> AsyncIterator[str]:
    """Where kubectl would come in."""
    assert stage.server is not None
    client = stage.authority.client(kubeletclient.USER, kubeletclient.GROUP)
    pair = tmp_path / "client.pem"
    pair.write_bytes(client.certificate_pem + client.key_pem)
    trust = NodeTrust(stage.authority.pem.decode(), lambda: pair)
    proxy = PodProxy(View(stage.server.port), trust, {"n1": "127.0.0.1"})

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await proxy.serve(request, "default", "web", request.match_info["sub"])
        except status.ApiError as error:
            return web.json_response(status.as_dict(error.status), status=error.code)

    app = web.Application()
    app.router.add_route("*", "/{sub}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await proxy.close()
    await runner.cleanup()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A runtime that forwards a port; what the bytes mean is between it and kubectl."""
    assert b"X-Stream-Protocol-Version: portforward.k8s.io\r\n" in await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
    while data := await reader.read(1 << 16):
        writer.write(data[::-1])
        await writer.drain()


async def test_logs(stage: Stage, front: str, tmp_path: Path) -> None:
    write_log(tmp_path / "0.log", "one", "two")
    stage.views.log_path = str(tmp_path / "0.log")
    async with aiohttp.ClientSession() as client:
        async with client.get(f"{front}/log?container=app&tailLines=1") as answer:
            assert (answer.status, await answer.text()) == (200, "two\n")
        async with client.get(f"{front}/log?container=idle") as answer:
            body = await answer.json()
            text = 'container "idle" in pod "web" is waiting to start: ContainerCreating'
            assert (answer.status, body["message"]) == (400, text)


async def test_exec_with_input_that_ends(stage: Stage, front: str) -> None:
    """``echo hi | kubectl exec -i``: channels at the front, streams behind, bytes in the middle."""
    url = f"{front}/exec?container=app&command=cat&stdin=true&stdout=true&stderr=true"
    async with (
        streaming_server(spdyruntime.talk) as stage.runtime.url,
        aiohttp.ClientSession() as client,
        client.ws_connect(url, protocols=["v5.channel.k8s.io"]) as socket,
    ):
        for message in (b"\x00hi ", b"\x00there", b"\xff\x00"):
            await socket.send_bytes(message)
        told = [message.data async for message in socket]
    assert told == [b"\x01", b"\x01HI THERE", b"\x02done\n", b"\x03" + spdyruntime.SUCCESS]
    asked = {"stdin": True, "stdout": True, "stderr": True, "tty": False}
    assert stage.runtime.calls == [("exec", "c1", ["cat"], asked)]


async def test_what_the_node_refuses_reaches_the_client(stage: Stage, front: str) -> None:
    async with aiohttp.ClientSession() as client:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await client.ws_connect(
                f"{front}/exec?container=idle&command=ls&stdout=true", protocols=["v5.channel.k8s.io"]
            )
    assert (refused.value.status, stage.runtime.calls) == (500, [])


async def test_port_forwarding(stage: Stage, front: str) -> None:
    async with (
        streaming_server(echo) as stage.runtime.url,
        aiohttp.ClientSession() as client,
        client.ws_connect(f"{front}/portforward", protocols=["SPDY/3.1+portforward.k8s.io"]) as socket,
    ):
        await socket.send_bytes(b"\x80\x03abc")
        assert await socket.receive_bytes() == b"cba\x03\x80"
    assert stage.runtime.calls == [("portForward", "s1", [])]
