"""Paths and header names as Go's HTTP client sends them, since that is what containers were written against."""

import re
from typing import Final
from urllib.parse import quote, unquote

# Go's net/url: what may stand in a path as it is, and what its own escaping leaves alone.
_VALID_PATH: Final = re.compile(r"(?:[A-Za-z0-9\-_.~!$&'()*+,;=:@/\[\]]|%[0-9A-Fa-f]{2})*", re.ASCII)
_UNESCAPED: Final = "$&+,/:;=@"
_AUTHORITY: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.\-]*:)?//(?!/)[^/?#]*", re.ASCII)
_BROKEN: Final = re.compile(r"%(?![0-9A-Fa-f]{2})|[\x00-\x1f\x7f]")
_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]+", re.ASCII)


def request_path(path: str) -> str:
    """The path and query of a request; a scheme and a host in it are replaced anyway, a fragment is not sent."""
    address, _, _ = path.partition("#")
    if _BROKEN.search(address.partition("?")[0]):
        return _rooted(quote(path, safe=_UNESCAPED))
    if authority := _AUTHORITY.match(address):
        address = address[authority.end() :]
    before, mark, query = address.partition("?")
    return _rooted(_escaped(before)) + (mark + query.replace(" ", "%20") if query else "")


def canonical_header(name: str) -> str:
    """``x-my-header`` as ``X-My-Header``; a name that is no token stays as it is."""
    if not _TOKEN.fullmatch(name):
        return name
    return "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))


def host_port(host: str, port: int) -> str:
    """Host and port as one; IPv6 addresses in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _escaped(path: str) -> str:
    return path if _VALID_PATH.fullmatch(path) else quote(unquote(path), safe=_UNESCAPED)


def _rooted(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"
