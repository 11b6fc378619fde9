"""Clients of a server under replay: one connection pool for each identity, real certificates and tokens."""

import asyncio
import base64
import io
import json
import ssl
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import quote, urlencode

import aiohttp
import msgspec
from yarl import URL

from flexlet.apiserver.server import ApiServer

GROUPS: Final = {"": ["system:masters"], "alice": ["devs"], "system:bootstrap:abcdef": ["system:bootstrappers"]}
PROTOBUF: Final = "<protobuf>"
NODES: Final = ["system:nodes"]
BARE: Final = {"anonymous", "token"}
SETTLE_S: Final = 0.08
WATCH_S: Final = 20.0


class Reply(msgspec.Struct, frozen=True):
    """An answer as it came."""

    status: int
    headers: dict[str, list[str]]
    data: bytes


class Clients:
    """Requests as anybody."""

    def __init__(self, server: ApiServer, directory: Path) -> None:
        self._server = server
        self._directory = directory
        self._sessions: dict[str, aiohttp.ClientSession] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session in self._sessions.values():
            await session.close()

    async def send(self, user: str, method: str, url: URL, headers: dict[str, str], body: bytes | None) -> Reply:
        """One request and its whole answer."""
        async with self._request(user, method, url, headers, body) as response:
            return Reply(response.status, _headers(response), await response.read())

    async def events(self, user: str, url: URL, headers: dict[str, str], wanted: int, during: Any) -> Reply:
        """A watch: what comes until as many events as wanted are here, and whether one too many follows."""
        async with self._request(user, "GET", url, headers, None) as response:
            if response.status != 200:
                return Reply(response.status, _headers(response), await response.read())
            reader = asyncio.create_task(_lines(response, wanted))
            if during is not None:
                await asyncio.sleep(SETTLE_S)
                await during()
            found = await reader
        return Reply(response.status, _headers(response), b"[" + b",".join(found) + b"]")

    def url(self, path: str, query: dict[str, Any]) -> URL:
        """The address of a path; repeated parameters come as lists."""
        encoded = quote(path, safe="/:;=,~@!$&'()*+")
        text = f"?{urlencode(query, doseq=True)}" if query else ""
        return URL(f"{self._server.url}{encoded}{text}", encoded=True)

    def _request(self, user: str, method: str, url: URL, headers: dict[str, str], body: bytes | None) -> Any:
        automatic = ("Accept", "User-Agent", "Content-Type", "Accept-Encoding")
        return self._session(user).request(
            method,
            url,
            data=io.BytesIO(body) if body else None,
            headers=headers,
            skip_auto_headers=automatic,
            allow_redirects=False,
        )

    def _session(self, user: str) -> aiohttp.ClientSession:
        if user not in self._sessions:
            connector = aiohttp.TCPConnector(ssl=self._context(user))
            self._sessions[user] = aiohttp.ClientSession(connector=connector)
        return self._sessions[user]

    def _context(self, user: str) -> ssl.SSLContext:
        pki = self._server.pki
        context = ssl.create_default_context(cadata=pki.ca_pem)
        if user in BARE:
            return context
        name = user.removesuffix(" in group system:nodes") or "admin"
        credential = pki.client(name, GROUPS.get(user, NODES), self._server.clock.now())
        path = self._directory / f"{name.replace(':', '_')}.pem"
        path.write_bytes(credential.certificate_pem + credential.key_pem)
        context.load_cert_chain(path)
        return context


async def _lines(response: aiohttp.ClientResponse, wanted: int) -> list[bytes]:
    """The events of a watch, without bookmarks that only repeat the one before."""
    found: list[bytes] = []
    try:
        async with asyncio.timeout(WATCH_S):
            while len(found) < wanted and (line := await response.content.readline()):
                found += [line] * (line not in found[-1:])
        async with asyncio.timeout(SETTLE_S):
            while line := await response.content.readline():
                found += [line] * (line not in found[-1:])
    except TimeoutError:
        pass
    return found


def _headers(response: aiohttp.ClientResponse) -> dict[str, list[str]]:
    return {name.title(): response.headers.getall(name) for name in response.headers}


def encoded(body: Any) -> bytes | None:
    """A recorded body as bytes: text and protobuf as they are, everything else as JSON."""
    if body is None or isinstance(body, bytes):
        return body
    if isinstance(body, dict) and PROTOBUF in body:
        return base64.b64decode(body[PROTOBUF]["base64"])
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()
