"""Paths, queries and watch lines without IO, so that they can be tested without a server."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from flexlet.api import status
from flexlet.ports.cluster import Change, Ref

PATCH_TYPES: Final = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


class _WatchLine(msgspec.Struct):
    type: str
    object: msgspec.Raw


_watch_decoder: Final = msgspec.json.Decoder(_WatchLine)


def path(ref: Ref, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """``/apis/apps/v1/namespaces/default/deployments/web/status``."""
    root = f"/apis/{ref.group}/{ref.version}" if ref.group else f"/api/{ref.version}"
    parts = [f"namespaces/{quote(namespace, safe='')}"] if namespace else []
    parts.append(ref.plural)
    parts += [quote(name, safe=":")] if name else []
    parts += [subresource] if subresource else []
    return "/".join((root, *parts))


def selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    """Query parameters of a list or watch."""
    query = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {key: value for key, value in query.items() if value}


class LineBuffer:
    """Cuts a byte stream into whole lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line for line in lines if line]


def changes(lines: Sequence[bytes]) -> list[Change]:
    """Watch events; bookmarks are left out, an error event is raised."""
    found: list[Change] = []
    for line in lines:
        event = _watch_decoder.decode(line)
        if event.type == "ERROR":
            raise status.error_of(status.decode(bytes(event.object), 500))
        if event.type != "BOOKMARK":
            found.append(Change(event.type, bytes(event.object)))
    return found


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class RawList(msgspec.Struct, rename="camel"):
    """A list whose items stay bytes."""

    metadata: _ListMeta
    items: list[msgspec.Raw] = []
    kind: str = ""
    api_version: str = ""


_list_decoder: Final = msgspec.json.Decoder(RawList)


def listing(data: bytes) -> RawList:
    """Take a list apart."""
    return _list_decoder.decode(data)


def typed_items(raw: RawList) -> tuple[bytes, ...]:
    """The items with the kind and apiVersion that lists leave out."""
    opening = msgspec.json.encode({"kind": raw.kind.removesuffix("List"), "apiVersion": raw.api_version})[:-1]
    return tuple(
        bytes(item)
        if item[:8] == b'{"kind":' or b'"apiVersion"' in item[:64]
        else opening + b"," + bytes(item)[1:]
        for item in map(bytes, raw.items)
    )


def encode(body: Any) -> bytes:
    """JSON bytes of a request body."""
    return msgspec.json.encode(body)
