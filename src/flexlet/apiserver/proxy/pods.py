"""The connections themselves: a log stream, or a WebSocket joined to another."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import parse_qs

import aiohttp
from aiohttp import WSMsgType, web
from yarl import URL

from flexlet.api import status
from flexlet.apiserver.contract.admission import View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.proxy import hosts, target, translate, upgrade
from flexlet.apiserver.proxy.hosts import IpAddress, Unusable
from flexlet.apiserver.proxy.target import Query, Target
from flexlet.apiserver.proxy.trust import NodeTrust

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

    def __init__(self, view: View, trust: NodeTrust, reach: Mapping[str, str] = MappingProxyType({})) -> None:
        self._view = view
        self._trust = trust
        self._reach = reach
        self.own_port = 0
        """Where this server listens: no node is there."""
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
        where = target.streams(pod, node, subresource, query, self._reach.get(pod["spec"].get("nodeName"), ""))
        if request.headers.get("Upgrade", "").lower() != "websocket":
            raise status.bad_request(
                "you must upgrade the connection: use a WebSocket client (kubectl 1.31 or newer)"
            )
        return await self._join(request, where, query)

    def _node(self, pod: Object) -> Object | None:
        name = pod["spec"].get("nodeName")
        return self._view.get("nodes", "", name) if name else None

    async def _address(self, where: Target) -> IpAddress:
        """Where to connect to: resolved once, so that what was checked is what is used."""
        try:
            return await hosts.locate(where.host, where.port, self.own_port, is_trusted=where.is_trusted)
        except Unusable as error:
            raise target.refused(where.node, error) from error

    async def _log(
        self, request: web.BaseRequest, pod: Object, node: Object | None, query: Query
    ) -> web.StreamResponse:
        where = target.logs(pod, node, query, self._reach.get(pod["spec"].get("nodeName"), ""))
        if where is None:
            return web.Response(status=204)
        async with self._get(where) as answer:
            if answer.status != 200:
                raise await _refused(answer)
            response = web.StreamResponse(headers={"Content-Type": "text/plain"})
            await response.prepare(request)
            async for data in answer.content.iter_any():
                await response.write(data)
            await response.write_eof()
            return response

    @contextlib.asynccontextmanager
    async def _get(self, where: Target) -> AsyncIterator[aiohttp.ClientResponse]:
        """The node's answer; where it sends us to instead is nowhere we go."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S)
        url = _url(where, await self._address(where))
        try:
            async with self._client().get(
                url,
                timeout=timeout,
                ssl=self._trust.context(where.node),
                server_hostname=where.name,
                headers={"Host": where.authority},
                allow_redirects=False,
            ) as answer:
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
            async with self._spdy(where, _SPDY_FORWARD) as node:
                client = await _accepted(request, TUNNEL)
                await translate.tunnel(client, node)
                return client
        if CHANNELS in protocols:
            async with self._spdy(where, _SPDY_CHANNELS) as node:
                client = await _accepted(request, CHANNELS)
                await translate.Translation(client, node, translate.channels(query)).run()
                return client
        return await self._pass_on(request, where, protocols)

    @contextlib.asynccontextmanager
    async def _spdy(self, where: Target, protocols: tuple[str, ...]) -> AsyncIterator[upgrade.Bytes]:
        address = await self._address(where)
        async with upgrade.spdy(where, address, self._trust.context(where.node), protocols) as node:
            yield node

    async def _pass_on(self, request: web.BaseRequest, where: Target, protocols: list[str]) -> web.StreamResponse:
        """A protocol that the node speaks itself: frames go through as they are."""
        url = _url(where, await self._address(where))
        try:
            node = await self._client().ws_connect(
                url,
                protocols=protocols,
                max_msg_size=_FRAME_LIMIT,
                ssl=self._trust.context(where.node),
                server_hostname=where.name,
                headers={"Host": where.authority},
            )
        except aiohttp.ClientError as error:
            raise upgrade.unreachable(where, error) from error
        async with node:
            client = await _accepted(request, node.protocol or protocols[0])
            await _both_ways(client, node)
        return client

    def _client(self) -> aiohttp.ClientSession:
        """No connection serves twice: each has the context of its node. Proxies and cookies are not for nodes."""
        if self._session is None:
            stays = aiohttp.TraceConfig()
            stays.on_request_redirect.append(_not_followed)
            connector = aiohttp.TCPConnector(limit=0, force_close=True)
            jar = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=jar, trace_configs=[stays])
        return self._session


async def _not_followed(session: object, context: object, redirect: aiohttp.TraceRequestRedirectParams) -> None:
    """A WebSocket's request would follow, and there is no argument against it."""
    del session, context
    raise aiohttp.ClientConnectionError(f"the node answered {redirect.response.status}, which is not followed")


def _url(where: Target, address: IpAddress) -> URL:
    path, _, query = where.path.partition("?")
    return URL.build(
        scheme="https", host=str(address), port=where.port, path=path, query_string=query, encoded=True
    )


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
    text = (await answer.content.read(4096)).decode(errors="replace").strip()
    if answer.status < 400:
        return status.failure(500, "InternalError", f"the node answered {answer.status}, which is no log")
    if answer.status == 404:
        return status.failure(404, "NotFound", text or "the node does not know this container")
    return status.failure(answer.status, "BadRequest" if answer.status == 400 else "InternalError", text)
