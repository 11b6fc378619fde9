"""A plain HTTPS client of a server under test, with the identities tests need."""

import io
import json
import ssl
import time
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from flexlet.apiserver.server import ApiServer

Object = dict[str, Any]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


class Answer(NamedTuple):
    """Status, headers and body of an answer."""

    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Talks to one server as one user."""

    def __init__(self, server: ApiServer, directory: Path, user: str, groups: list[str]) -> None:
        context = ssl.create_default_context(cadata=server.pki.ca_pem)
        if user:
            credential = server.pki.client(user, groups, time.time())
            path = directory / f"{user}.pem"
            path.write_bytes(credential.certificate_pem + credential.key_pem)
            context.load_cert_chain(path)
        self._url = server.url
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context))

    async def close(self) -> None:
        await self._session.close()

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request; a body that is no bytes is sent as JSON."""
        named = {key.replace("_", "-"): text for key, text in headers.items()}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = None if data is None else io.BytesIO(data)
        if data is not None:
            named.setdefault("Content-Type", "application/json")
        async with self._session.request(method, self._url + path, data=sent, headers=named) as response:
            return Answer(response.status, response.headers, await response.read())

    def stream(self, path: str, **headers: str) -> Any:
        """An open answer to read from."""
        return self._session.get(self._url + path, headers=dict(headers.items()))
