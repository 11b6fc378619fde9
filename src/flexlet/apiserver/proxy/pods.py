"""The connections themselves: a log stream, or a WebSocket joined to another."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import parse_qs

import aiohttp
from aiohttp import WSMsgType, web

from flexlet.api import status
from flexlet.apiserver.contract.admission import View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.proxy import target, translate, upgrade
from flexlet.apiserver.proxy.target import Query, Target

SUBRESOURCES: Final = ("log", "exec", "attach", "portforward")
CHANNELS: Final = "v5.channel.k8s.io"
TUNNEL: Final = "SPDY/3.1+portforward.k8s.io"
PROTOCOLS: Final = (CHANNELS, "v4.channel.k8s.io", TUNNEL)
_SPDY_CHANNELS: Final = ("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
_SPDY_FORWARD: Final = ("portforward.k8s.io",)
_CONNECT_S: Final = 10
_FRAME_LIMIT: Final = 16 * 1024 * 1024


class PodProxy:
    """Answers the streaming subresources of pods. One client session for all nodes, made on first use."""

    def __init__(
        self, view: View, tls: Callable[[], ssl.SSLContext], reach: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._view = view
        self._tls = tls
        self._reach = reach
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """End what is open."""
        if self._session is not None:
            await self._session.close()

    async def serve(
        self, request: web.BaseRequest, namespace: str, name: str, subresource: str
    ) -> web.StreamResponse:
        """Answer one request; `subresource` is one of SUBRESOURCES."""
        pod = self._view.get("pods", namespace, name)
        if pod is None:
            raise status.not_found("pods", "", name)
        query = parse_qs(request.raw_path.partition("?")[2], keep_blank_values=True)
        node = self._node(pod)
        if subresource == "log":
            return await self._log(request, pod, node, query)
        where = target.streams(pod, node, subresource, query)
        if request.headers.get("Upgrade", "").lower() != "websocket":
            raise status.bad_request(
                "you must upgrade the connection: use a WebSocket client (kubectl 1.31 or newer)"
            )
        return await self._join(request, where, query)

    def _node(self, pod: Object) -> Object | None:
        name = pod["spec"].get("nodeName")
        found = self._view.get("nodes", "", name) if name else None
        return target.reached(found, self._reach.get(name, "")) if found is not None else None

    async def _log(
        self, request: web.BaseRequest, pod: Object, node: Object | None, query: Query
    ) -> web.StreamResponse:
        where = target.logs(pod, node, query)
        if where is None:
            return web.Response(status=204)
        async with self._get(where) as answer:
            if answer.status >= 400:
                raise await _refused(answer)
            response = web.StreamResponse(headers={"Content-Type": "text/plain"})
            await response.prepare(request)
            async for data in answer.content.iter_any():
                await response.write(data)
            await response.write_eof()
            return response

    @contextlib.asynccontextmanager
    async def _get(self, where: Target):  # type: ignore[no-untyped-def]  # noqa: ANN202 the decorator types it
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S)
        try:
            async with self._client().get(where.url, timeout=timeout) as answer:
                yield answer
        except aiohttp.ClientConnectionError as error:
            raise upgrade.unreachable(where, error) from error

    async def _join(self, request: web.BaseRequest, where: Target, query: Query) -> web.StreamResponse:
        """Both upgrades, then bytes both ways until one side ends."""
        offered = [p.strip() for p in request.headers.get("Sec-WebSocket-Protocol", "").split(",") if p.strip()]
        protocols = [protocol for protocol in offered if protocol in PROTOCOLS]
        if not protocols:
            raise status.bad_request(
                f"unable to upgrade: unknown subprotocol(s) {offered}; known: {list(PROTOCOLS)}"
            )
        if TUNNEL in protocols:
            async with upgrade.spdy(where, self._tls(), _SPDY_FORWARD) as node:
                client = await _accepted(request, TUNNEL)
                await translate.tunnel(client, node)
                return client
        if CHANNELS in protocols:
            async with upgrade.spdy(where, self._tls(), _SPDY_CHANNELS) as node:
                client = await _accepted(request, CHANNELS)
                await translate.Translation(client, node, translate.channels(query)).run()
                return client
        return await self._pass_on(request, where, protocols)

    async def _pass_on(self, request: web.BaseRequest, where: Target, protocols: list[str]) -> web.StreamResponse:
        """A protocol that the node speaks itself: frames go through as they are."""
        try:
            node = await self._client().ws_connect(where.url, protocols=protocols, max_msg_size=_FRAME_LIMIT)
        except aiohttp.ClientError as error:
            raise upgrade.unreachable(where, error) from error
        async with node:
            client = await _accepted(request, node.protocol or protocols[0])
            await _both_ways(client, node)
        return client

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(ssl=self._tls(), limit=0)
            self._session = aiohttp.ClientSession(connector=connector)
        return self._session


async def _accepted(request: web.BaseRequest, protocol: str) -> web.WebSocketResponse:
    client = web.WebSocketResponse(protocols=[protocol], max_msg_size=_FRAME_LIMIT)
    await client.prepare(request)
    return client


async def _both_ways(client: web.WebSocketResponse, node: aiohttp.ClientWebSocketResponse) -> None:
    """The node's end of the stream is the end; a client that leaves takes the node's side with it."""
    to_node = asyncio.create_task(_pump(client, node))
    try:
        await _pump(node, client)
    finally:
        to_node.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await to_node
        await client.close()


_Socket = web.WebSocketResponse | aiohttp.ClientWebSocketResponse


async def _pump(source: _Socket, sink: _Socket) -> None:
    async for message in source:
        if message.type is WSMsgType.BINARY:
            await sink.send_bytes(message.data)
        elif message.type is WSMsgType.TEXT:
            await sink.send_str(message.data)
    await sink.close()


async def _refused(answer: aiohttp.ClientResponse) -> status.ApiError:
    """What the node said, as the Status the caller gets."""
    text = (await answer.read())[:4096].decode(errors="replace").strip()
    if answer.status == 404:
        return status.failure(404, "NotFound", text or "the node does not know this container")
    return status.failure(answer.status, "BadRequest" if answer.status == 400 else "InternalError", text)
