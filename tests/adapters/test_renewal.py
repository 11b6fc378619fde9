"""A client whose credentials change while it is in use."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from flexlet.adapters.kube.client import HttpCluster
from flexlet.adapters.kube.kubeconfig import Credentials
from flexlet.api.status import ApiError
from flexlet.ports.cluster import PODS


class Slow:
    """A server that answers in its own time, and notes who asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.arrived = asyncio.Event()
        self.gone = asyncio.Event()
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.headers["Authorization"])
        self.arrived.set()
        if request.path.endswith("/quick"):
            return web.Response(body=b"{}")
        if request.query.get("watch"):
            stream = web.StreamResponse()
            await stream.prepare(request)
            await stream.write(b'{"type":"ADDED","object":{}}\n')
        await self.gone.wait()
        return web.Response()


@pytest.fixture
async def server() -> AsyncIterator[Slow]:
    slow, app = Slow(), web.Application()
    app.router.add_get("/{path:.*}", slow.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    slow.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield slow
    slow.gone.set()
    await runner.cleanup()


@pytest.mark.parametrize("streaming", [True, False])
async def test_whoever_waits_on_an_old_connection_is_told_and_the_next_request_is_made_anew(
    server: Slow, streaming: bool
) -> None:
    """A connection keeps the identity of its handshake, so none outlives its credentials."""

    async def wait() -> int:
        try:
            if streaming:
                async for _ in cluster.watch(PODS, "1"):
                    pass
            else:
                await cluster.get(PODS, "default", "slow")
        except ApiError as error:
            return error.code
        return 0

    async with HttpCluster(Credentials(server=server.url, token="old")) as cluster:
        waiting = asyncio.create_task(wait())
        await server.arrived.wait()
        await asyncio.sleep(0.05)
        await cluster.renew(Credentials(server=server.url, token="new"))
        async with asyncio.timeout(10):
            assert await waiting == 503
        assert await cluster.get(PODS, "default", "quick") == b"{}"
    assert server.asked == ["Bearer old", "Bearer new"]
