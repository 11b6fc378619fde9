"""What a caller may ask: subresources of this node in the API's own rules, by SubjectAccessReview.

``/stats`` needs nodes/stats, ``/metrics`` nodes/metrics and so on; what has no name of its own, exec among it,
needs nodes/proxy. Some pages have a narrow name and still open with nodes/proxy, which came first. A yes is
remembered for five minutes, a no for thirty seconds.
"""

import logging
from typing import Final

import msgspec

from flexlet.adapters.nodeserver.expiring import Expiring
from flexlet.adapters.nodeserver.reviews import Caller, Reviews
from flexlet.adapters.nodeserver.wire import Answer, Request, text
from flexlet.errors import FlexletError
from flexlet.ports.clock import Clock

ALLOWED_S: Final = 300.0
DENIED_S: Final = 30.0
PROXY: Final = "proxy"

VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
SUBRESOURCES: Final = {
    "/stats": ("stats",),
    "/metrics": ("metrics",),
    "/logs": ("log",),
    "/checkpoint": ("checkpoint",),
    "/statusz": ("statusz",),
    "/flagz": ("configz",),
    "/pods": ("pods", PROXY),
    "/runningpods": ("pods", PROXY),
    "/healthz": ("healthz", PROXY),
    "/configz": ("configz", PROXY),
}


_log: Final = logging.getLogger(__name__)


class Denied(msgspec.Struct, frozen=True):
    """The request is refused, and how."""

    answer: Answer


def subresources(path: str) -> tuple[str, ...]:
    """Which subresources of the node open a path; any of them suffices."""
    for prefix, names in SUBRESOURCES.items():
        if path == prefix or path.startswith(f"{prefix}/"):
            return names
    return (PROXY,)


class Authorizer:
    """Asks about every request, unless it asked lately."""

    def __init__(
        self,
        reviews: Reviews,
        clock: Clock,
        node: str,
        *,
        allowed_s: float = ALLOWED_S,
        denied_s: float = DENIED_S,
    ) -> None:
        self._reviews = reviews
        self._node = node
        self._allowed_s = allowed_s
        self._denied_s = denied_s
        self._known: Expiring[bytes, bool] = Expiring(clock)

    async def check(self, caller: Caller, request: Request) -> Denied | None:
        """None if the caller may go on."""
        verb, names = VERBS.get(request.method, ""), subresources(request.path)
        for name in names:
            try:
                if await self._may(caller, verb, name):
                    return None
            except FlexletError as error:
                _log.warning("cannot ask what %s may do: %s", caller.name, error)
                about = f"user={caller.name}, verb={verb}, resource=nodes, subresource={name}"
                return Denied(text(500, f"Authorization error ({about})"))
        listed = " ".join(names)
        about = f"user={caller.name}, verb={verb}, resource=nodes, subresource(s)=[{listed}]"
        return Denied(text(403, f"Forbidden ({about})\n"))

    async def _may(self, caller: Caller, verb: str, subresource: str) -> bool:
        key = msgspec.msgpack.encode((caller, verb, subresource))
        known = self._known.get(key)
        if known is not None:
            return known
        attributes = {
            "verb": verb,
            "version": "v1",
            "resource": "nodes",
            "subresource": subresource,
            "name": self._node,
        }
        allowed = await self._reviews.may(caller, attributes)
        self._known.put(key, allowed, self._allowed_s if allowed else self._denied_s)
        return allowed
