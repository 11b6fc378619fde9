"""HTTP/1.1 heads without IO.

Requests are read strictly: a head that is not exactly what the standard says is refused, for a lenient reader is
how requests get smuggled past an authorizer. Header bytes are kept as they came, since tunnels pass them on.
"""

import re
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs, unquote

import msgspec

MAX_HEAD_BYTES: Final = 1 << 20
PLAIN: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"

_TOKEN: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_match_request: Final = re.compile(rb"(" + _TOKEN + rb") (/[!-~]*) HTTP/1\.([01])").fullmatch
_match_field: Final = re.compile(rb"(" + _TOKEN + rb"):[ \t]*([^\x00\r\n]*?)[ \t]*").fullmatch
_match_status: Final = re.compile(rb"HTTP/1\.[01] (\d{3})(?: [^\r\n]*)?").fullmatch


class BadHead(Exception):
    """What came is not HTTP."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request's head."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    """Names in lower case, in the order they came, repeated ones included."""
    raw_headers: bytes = b""
    """The header lines as they came, without the empty one at the end."""
    is_http_1_0: bool = False

    @property
    def path(self) -> str:
        """The path, decoded."""
        return unquote(self.target.partition("?")[0])

    @property
    def segments(self) -> tuple[str, ...]:
        """The parts of the path, each decoded by itself."""
        return tuple(unquote(part) for part in self.target.partition("?")[0].split("/")[1:])

    @property
    def query(self) -> dict[str, list[str]]:
        """The query; a key without a value has an empty one."""
        return parse_qs(self.target.partition("?")[2], keep_blank_values=True)

    def values(self, name: str) -> tuple[str, ...]:
        """All values of a header; `name` in lower case."""
        return tuple(value for key, value in self.headers if key == name)

    def value(self, name: str) -> str:
        """The first value of a header, or empty."""
        return next(iter(self.values(name)), "")

    @property
    def wants_upgrade(self) -> bool:
        """Whether the connection is to become something else than HTTP."""
        return any("upgrade" in value.lower() for value in self.values("connection"))

    @property
    def wants_websocket(self) -> bool:
        """Whether that something is a WebSocket."""
        return self.wants_upgrade and self.value("upgrade").lower() == "websocket"

    @property
    def keeps_alive(self) -> bool:
        """Whether another request may follow on this connection."""
        words = {word.strip().lower() for value in self.values("connection") for word in value.split(",")}
        return "close" not in words and not self.is_http_1_0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A response whose body is known."""

    code: int = 200
    body: bytes = b""
    content_type: str = PLAIN
    headers: tuple[tuple[str, str], ...] = ()


def text(code: int, message: str) -> Answer:
    """A response of one text."""
    return Answer(code=code, body=message.encode())


def error(code: int, message: str) -> Answer:
    """A refusal as Go's ``http.Error`` writes it: with a newline, and not to be guessed at."""
    return Answer(code=code, body=f"{message}\n".encode(), headers=(("X-Content-Type-Options", "nosniff"),))


def parse_request(head: bytes) -> Request:
    """A head up to and including its empty line."""
    line, _, rest = head.removesuffix(b"\r\n\r\n").partition(b"\r\n")
    match = _match_request(line)
    if match is None:
        raise BadHead("malformed request line")
    headers = tuple(_field(each) for each in rest.split(b"\r\n")) if rest else ()
    return Request(
        method=match[1].decode(),
        target=match[2].decode(),
        headers=headers,
        raw_headers=rest + b"\r\n" if rest else b"",
        is_http_1_0=match[3] == b"0",
    )


def _field(line: bytes) -> tuple[str, str]:
    match = _match_field(line)
    if match is None:
        raise BadHead("malformed header")
    return match[1].decode().lower(), match[2].decode("latin-1")


def body_length(request: Request) -> int | None:
    """How many bytes of body follow; None if it cannot be told beforehand."""
    lengths = set(request.values("content-length"))
    if request.values("transfer-encoding"):
        return None
    if len(lengths) > 1 or not all(re.fullmatch(r"[0-9]{1,18}", length) for length in lengths):
        raise BadHead("malformed Content-Length")
    return int(next(iter(lengths), "0"))


def parse_response(head: bytes) -> tuple[int, dict[str, str]]:
    """Status and headers (names in lower case) of a response's head."""
    line, _, rest = head.removesuffix(b"\r\n\r\n").partition(b"\r\n")
    match = _match_status(line)
    if match is None:
        raise BadHead("malformed status line")
    return int(match[1]), dict(_field(each) for each in rest.split(b"\r\n")) if rest else {}


def response_head(answer: Answer, *, length: int | None, closes: bool) -> bytes:
    """The head of a response; without a length the body comes in chunks, or until the end if it closes."""
    fields = [("Content-Type", answer.content_type), *answer.headers]
    if length is not None:
        fields.append(("Content-Length", str(length)))
    elif not closes:
        fields.append(("Transfer-Encoding", "chunked"))
    if closes:
        fields.append(("Connection", "close"))
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"HTTP/1.1 {answer.code} {_phrase(answer.code)}\r\n{lines}\r\n".encode("latin-1")


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "Unknown"


def chunk(data: bytes) -> bytes:
    """One piece of a body of unknown length; the empty one is the end."""
    return b"%x\r\n%b\r\n" % (len(data), data)
