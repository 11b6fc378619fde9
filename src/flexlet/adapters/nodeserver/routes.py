"""Which page a path names, without regard to who answers it."""

from typing import Final

import msgspec

STREAMS: Final = ("exec", "attach", "portForward")
NOT_FOUND: Final = "404: Page Not Found"
NOT_ALLOWED: Final = "405: Method Not Allowed"

_BOTH: Final = ("GET", "POST")
_ANY: Final = ()
"""Pages that do not look at the method."""
_EXACT: Final[dict[tuple[str, ...], tuple[str, tuple[str, ...]]]] = {
    ("healthz",): ("healthz", _ANY),
    ("healthz", "ping"): ("healthz", _ANY),
    ("healthz", "log"): ("healthz", _ANY),
    ("healthz", "syncloop"): ("healthz", _ANY),
    ("metrics",): ("metrics", _ANY),
    ("metrics", "cadvisor"): ("metrics/cadvisor", _ANY),
    ("metrics", "probes"): ("metrics/probes", _ANY),
    ("metrics", "resource"): ("metrics/resource", _ANY),
    ("configz",): ("configz", _ANY),
    ("pods",): ("pods", ("GET",)),
    ("runningpods",): ("runningpods", ("GET",)),
    ("stats", "summary"): ("stats", _BOTH),
}
_BUCKETS: Final = {
    *("healthz", "metrics", "metrics/cadvisor", "metrics/probes", "metrics/resource", "configz", "pods"),
    *("runningpods", "stats", "containerLogs", "run", "logs", "debug", *STREAMS),
}
_METHODS: Final = {"OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT"}
_LONG_RUNNING: Final = {"exec", "attach", "debug"}


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A page and whom it is about."""

    page: str
    namespace: str = ""
    pod: str = ""
    uid: str = ""
    container: str = ""
    rest: tuple[str, ...] = ()


class NoRoute(msgspec.Struct, frozen=True):
    """There is no such page, or not for this method."""

    code: int
    message: str


def find(method: str, segments: tuple[str, ...]) -> Route | NoRoute:
    """The page of a path; a slash at the end of a page that answers by itself is forgiven."""
    first, *rest = segments
    if rest == [""] and first in {"pods", "runningpods"}:
        rest = []
    exact = _EXACT.get((first, *rest))
    if exact is not None:
        return _for_method(method, exact[1], Route(page=exact[0], rest=tuple(rest)))
    if first == "logs":
        return _for_method(method, ("GET",), Route(page="logs", rest=tuple(rest)))
    if "" in rest:
        return NoRoute(404, NOT_FOUND)
    match (first, *rest):
        case ("containerLogs", namespace, pod, container):
            route = Route(page=first, namespace=namespace, pod=pod, container=container)
            return _for_method(method, ("GET",), route)
        case ("portForward", namespace, pod, *uid) if len(uid) <= 1:
            return _for_method(method, _BOTH, Route(page=first, namespace=namespace, pod=pod, uid="".join(uid)))
        case ("exec" | "attach" | "run", namespace, pod, *uid, container) if len(uid) <= 1:
            route = Route(page=first, namespace=namespace, pod=pod, uid="".join(uid), container=container)
            return _for_method(method, ("POST",) if first == "run" else _BOTH, route)
    return NoRoute(404, NOT_FOUND)


def _for_method(method: str, allowed: tuple[str, ...], route: Route) -> Route | NoRoute:
    return route if not allowed or method in allowed else NoRoute(405, NOT_ALLOWED)


def labels(method: str, segments: tuple[str, ...]) -> dict[str, str]:
    """How a request is counted; names nobody serves are one, or a scanner could fill the memory."""
    root = "/".join(segments[:2]) if segments[0] == "metrics" else segments[0]
    path = root if root in _BUCKETS else "other"
    return {
        "method": method if method in _METHODS else "other",
        "path": path,
        "server_type": "readwrite",
        "long_running": "true" if path in _LONG_RUNNING else "false",
    }
