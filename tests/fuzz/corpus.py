"""What to start from: every recorded request, every recorded object, and every path the server says it serves.

Namespaces of the recordings become a few of our own, so that requests meet the objects that others made.
"""

import base64
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

RECORDINGS = Path(__file__).parents[1] / "data" / "http"
NAMESPACES = ("fuzz-a", "fuzz-b", "default")
JSON = "application/json"


class Request(NamedTuple):
    """A request as it goes over the wire."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


@functools.cache
def recorded() -> tuple[Request, ...]:
    """The recorded requests, and each recorded object as a body to create or replace it with."""
    found: dict[Request, None] = {}
    for path in sorted(RECORDINGS.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            found |= dict.fromkeys((_request(entry), *_writes(entry)))
    return tuple(found)


def _request(entry: dict[str, Any]) -> Request:
    headers = entry.get("request_headers") or {}
    return Request(
        entry["method"],
        _ours(entry["path"]),
        tuple((key, str(value)) for key, value in (entry.get("query") or {}).items()),
        tuple((key, str(value)) for key, value in headers.items() if key.lower() != "host"),
        _body(entry.get("request_body")),
    )


def _writes(entry: dict[str, Any]) -> Iterator[Request]:
    """A stored object can be put back; without its version it can be made anew."""
    body = entry.get("response_body")
    if not isinstance(body, dict) or not isinstance(body.get("metadata"), dict) or "name" not in body["metadata"]:
        return
    headers = (("Content-Type", JSON),)
    path = _ours(entry["path"])
    metadata = {key: value for key, value in body["metadata"].items() if key not in {"resourceVersion", "uid"}}
    metadata["namespace"] = path.split("/namespaces/")[1].split("/")[0] if "/namespaces/" in path else None
    plain = json.dumps({**body, "metadata": {k: v for k, v in metadata.items() if v is not None}}).encode()
    if entry["method"] == "POST":
        yield Request("POST", path, (), headers, plain)
    elif entry["method"] == "GET":
        yield Request("PUT", path, (), headers, plain)


def _body(value: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, dict) and "<protobuf>" in value:
        return base64.b64decode(value["<protobuf>"]["base64"])
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def _ours(path: str) -> str:
    """The path in one of our namespaces; the same recorded one always becomes the same of ours."""
    match = re.match(r"(.*/namespaces/)([^/]+)(/.+)", path)
    if match is None:
        return path
    return f"{match[1]}{NAMESPACES[len(match[2]) % len(NAMESPACES)]}{match[3]}"
