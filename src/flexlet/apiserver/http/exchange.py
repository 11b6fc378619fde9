"""One request on its way: what was asked, by whom, and in which form it is answered."""

from collections.abc import Mapping

import msgspec
from aiohttp import web

from flexlet.apiserver.audit.trail import Trail
from flexlet.apiserver.contract.request import User
from flexlet.apiserver.http.paths import Path


class Exchange(msgspec.Struct, kw_only=True):
    """A request after its path was read and its caller known."""

    request: web.BaseRequest
    method: str
    path: Path
    query: Mapping[str, str]
    user: User
    verb: str
    warnings: list[str] = []
    trail: Trail | None = None
    """Where the audit log follows the request, while there is one."""

    @property
    def accept(self) -> str | None:
        """What the client takes."""
        return self.request.headers.get("Accept")
