"""Kubernetes paths: which group, version, namespace, resource, name and subresource a URL means.

Follows ``apiserver/pkg/endpoints/request/requestinfo.go``. The old ``/watch/`` forms are read as watches of the
same collection.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, unquote

import msgspec

NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")
VERBS: Final = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
NO_QUERY: Final[Mapping[str, str]] = {}


class Path(msgspec.Struct, frozen=True, kw_only=True):
    """A path taken apart; `resource` is empty for everything that is no resource."""

    text: str
    parts: tuple[str, ...]
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    name: str = ""
    subresource: str = ""
    old_watch: bool = False


def split_target(target: str) -> tuple[str, Mapping[str, str]]:
    """Path and query of a request line; of a repeated parameter the first counts."""
    if not target.startswith("/"):
        target = "/" + target.partition("://")[2].partition("/")[2]
    path, question, query = target.partition("?")
    if "%" in path:
        path = unquote(path)
    if not question:
        return path, NO_QUERY
    values: dict[str, str] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        values.setdefault(key, value)
    return path, values


def read(text: str) -> Path:
    """Take a path apart."""
    parts = tuple(part for part in text.split("/") if part)
    if len(parts) >= 3 and parts[0] == "api":
        return _resource(text, parts, "", parts[1], parts[2:])
    if len(parts) >= 4 and parts[0] == "apis":
        return _resource(text, parts, parts[1], parts[2], parts[3:])
    return Path(text=text, parts=parts)


def _resource(text: str, parts: tuple[str, ...], group: str, version: str, rest: tuple[str, ...]) -> Path:
    old_watch = rest[0] == "watch" and len(rest) > 1
    if old_watch:
        rest = rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        if len(rest) > 2 and rest[2] not in NAMESPACE_SUBRESOURCES:
            namespace, rest = rest[1], rest[2:]
        elif not group:
            namespace = rest[1]
    return Path(
        text=text,
        parts=parts,
        group=group,
        version=version,
        namespace=namespace,
        resource=rest[0],
        name=rest[1] if len(rest) > 1 else "",
        subresource="/".join(rest[2:]),
        old_watch=old_watch,
    )


def verb(method: str, path: Path, *, watch: bool) -> str:
    """What authorization calls the request; outside the resources, its method."""
    if not path.resource:
        return method.lower()
    if path.old_watch:
        return "watch"
    found = VERBS.get(method, method.lower())
    if path.name:
        return found
    if found == "get":
        return "watch" if watch else "list"
    return "deletecollection" if found == "delete" else found
