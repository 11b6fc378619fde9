"""One HTTP/1.1 GET and its answer, without a library: a connection, a head, at most 10 KiB of body.

Redirects are followed within one host, ten of them at most; one that leads away is itself the answer.
"""

import asyncio
import ssl
from typing import Final
from urllib.parse import urljoin, urlsplit

import msgspec

from flexlet.adapters.prober.dial import Broken, connect, reason
from flexlet.core.agent.probing.addresses import host_port
from flexlet.core.agent.probing.targets import HttpRequest

MAX_BODY: Final = 10 * 1024
_MAX_REDIRECTS: Final = 10
_MAX_LINE: Final = 64 * 1024
_MAX_HEAD_LINES: Final = 1000
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_BODILESS: Final = (204, 304)
_CHUNKED: Final = "chunked"


class HttpAnswer(msgspec.Struct, frozen=True):
    """What came back; `fault` is set if the body broke off."""

    code: int
    headers: dict[str, str]
    body: bytes = b""
    fault: str = ""


class Progress:
    """How far a request has come; whoever runs out of time says so accordingly."""

    url: str = ""
    in_body: bool = False


async def get(request: HttpRequest, tls: ssl.SSLContext, progress: Progress) -> HttpAnswer:
    """The final answer, or Broken with a text that names the address."""
    first, requests = request.host.lower(), 0
    while True:
        progress.url = address(request)
        try:
            answer = await _once(request, tls, progress)
        except Broken as error:
            raise Broken(f'Get "{progress.url}": {error}') from error
        requests += 1
        location = answer.headers.get("location", "")
        if answer.code not in _REDIRECTS or not location:
            return answer
        request = _redirected(request, location)
        if request.host != first:
            return answer
        if requests == _MAX_REDIRECTS:
            raise Broken(f'Get "{location}": stopped after {_MAX_REDIRECTS} redirects')


def address(request: HttpRequest) -> str:
    """The address of a request."""
    return f"{request.scheme}://{host_port(request.host, request.port)}{request.path}"


async def _once(request: HttpRequest, tls: ssl.SSLContext, progress: Progress) -> HttpAnswer:
    reader, writer = await connect(request.host, request.port, tls if request.scheme == "https" else None)
    try:
        writer.write(_head(request))
        code, headers = await _answer_head(reader)
        progress.in_body = True
        body, fault = await _body(reader, code, headers)
        progress.in_body = False
    except OSError as error:
        local, remote = writer.get_extra_info("sockname"), writer.get_extra_info("peername")
        ends = f"{host_port(*local[:2])}->{host_port(*remote[:2])}" if local and remote else ""
        raise Broken(f"read tcp {ends}: read: {reason(error)}") from error
    finally:
        # No parting words: a server that is slow to say goodbye is none of our business.
        writer.transport.abort()
    return HttpAnswer(code, headers, body, fault)


def _head(request: HttpRequest) -> bytes:
    own = [value for name, value in request.headers if name == "Host" and value]
    host = own[0] if own else host_port(request.host, request.port)
    lines = [f"GET {request.path} HTTP/1.1", f"Host: {_one_line(host)}"]
    lines += [f"{name}: {_one_line(value)}" for name, value in request.headers if name != "Host"]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8")


def _one_line(value: str) -> str:
    return value.replace("\r", " ").replace("\n", " ")


async def _answer_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Status and headers, past what is only informative."""
    while True:
        code = _status(await _line(reader, at_start=True))
        headers = await _headers(reader)
        if not 100 <= code < 200 or code == 101:
            return code, headers


def _status(line: str) -> int:
    parts = line.split(" ", 2)
    if len(parts) < 2:
        raise _malformed(f'HTTP response "{line}"')
    if not (len(parts[1]) == 3 and parts[1].isdecimal()):
        raise _malformed(f'HTTP status code "{parts[1]}"')
    if not parts[0].startswith("HTTP/"):
        raise _malformed(f'HTTP version "{parts[0]}"')
    return int(parts[1])


async def _headers(reader: asyncio.StreamReader) -> dict[str, str]:
    found: dict[str, str] = {}
    for _ in range(_MAX_HEAD_LINES):
        line = await _line(reader)
        if not line:
            return found
        name, colon, value = line.partition(":")
        if not colon:
            raise _malformed(f'MIME header: missing colon: "{line}"')
        found.setdefault(name.strip().lower(), value.strip())
    raise Broken("net/http: server response headers exceeded 1048576 bytes; aborted")


async def _line(reader: asyncio.StreamReader, *, at_start: bool = False) -> str:
    try:
        line = await reader.readline()
    except ValueError as error:
        raise Broken(f"net/http: server response headers exceeded {_MAX_LINE} bytes; aborted") from error
    if not line:
        raise Broken("EOF" if at_start else "unexpected EOF")
    return line.decode("latin-1").rstrip("\r\n")


def _malformed(what: str) -> Broken:
    return Broken(f"net/http: HTTP/1.x transport connection broken: malformed {what}")


async def _body(reader: asyncio.StreamReader, code: int, headers: dict[str, str]) -> tuple[bytes, str]:
    """At most 10 KiB, and why there is less than was promised."""
    if code in _BODILESS:
        return b"", ""
    if headers.get("transfer-encoding", "").lower() == _CHUNKED:
        return await _chunks(reader)
    length = headers.get("content-length", "")
    if not length.isdecimal():
        return await _some(reader, MAX_BODY), ""
    promised = min(int(length), MAX_BODY)
    body = await _some(reader, promised)
    return body, "" if len(body) == promised else "unexpected EOF"


async def _chunks(reader: asyncio.StreamReader) -> tuple[bytes, str]:
    body = b""
    while len(body) < MAX_BODY:
        size = (await reader.readline()).split(b";")[0].strip()
        try:
            length = int(size, 16)
        except ValueError:
            return body, "unexpected EOF" if not size else "invalid byte in chunk length"
        if length == 0:
            return body, ""
        part = await _some(reader, min(length, MAX_BODY - len(body)))
        body += part
        if len(part) < length:
            return body, "" if len(body) >= MAX_BODY else "unexpected EOF"
        await reader.readline()
    return body, ""


async def _some(reader: asyncio.StreamReader, most: int) -> bytes:
    body = b""
    while len(body) < most and (part := await reader.read(most - len(body))):
        body += part
    return body


def _redirected(request: HttpRequest, location: str) -> HttpRequest:
    """The request that a redirect asks for; a Host of our own stays only if the address is relative."""
    before = address(request)
    try:
        parts = urlsplit(urljoin(before, location))
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise Broken(f'Get "{before}": failed to parse Location header "{location}": {error}') from error
    if parts.scheme not in {"http", "https"}:
        raise Broken(f'Get "{location}": unsupported protocol scheme "{parts.scheme}"')
    is_absolute = bool(urlsplit(location).scheme)
    kept = [(name, value) for name, value in request.headers if not (name == "Host" and is_absolute)]
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return msgspec.structs.replace(
        request,
        scheme=parts.scheme,
        host=parts.hostname or "",
        port=port,
        path=path,
        headers=(*(each for each in kept if each[0] != "Referer"), ("Referer", before)),
    )
