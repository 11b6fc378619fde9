"""Heads of requests and responses, strictly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.adapters.nodeserver import wire
from flexlet.adapters.nodeserver.wire import Answer, BadHead, Request

HEAD = b"POST /exec/a%2Fb/c?command=ls&command=-l&tty HTTP/1.1\r\nHost: n\r\nX-A: 1\r\nx-a:  2 \r\n\r\n"


def test_a_request() -> None:
    request = wire.parse_request(HEAD)
    assert request == Request(
        method="POST",
        target="/exec/a%2Fb/c?command=ls&command=-l&tty",
        headers=(("host", "n"), ("x-a", "1"), ("x-a", "2")),
        raw_headers=b"Host: n\r\nX-A: 1\r\nx-a:  2 \r\n",
    )
    assert (request.path, request.segments) == ("/exec/a/b/c", ("exec", "a/b", "c"))
    assert request.query == {"command": ["ls", "-l"], "tty": [""]}
    assert (request.values("x-a"), request.value("host"), request.value("none")) == (("1", "2"), "n", "")


@pytest.mark.parametrize(
    "head",
    [
        b"GET  / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"GET http://other/ HTTP/1.1\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nName : space before the colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: 1\r\n folded: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: a lone \n newline\r\n\r\n",
        b"\x16\x03\x01\r\n\r\n",
    ],
)
def test_what_is_not_exactly_http_is_refused(head: bytes) -> None:
    with pytest.raises(BadHead):
        wire.parse_request(head)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_request_or_refused(data: bytes) -> None:
    try:
        request = wire.parse_request(b"GET / HTTP/1.1\r\n" + data + b"\r\n\r\n")
    except BadHead:
        return
    assert request.raw_headers == (data + b"\r\n" if data else b"")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (b"", 0),
        (b"Content-Length: 12\r\n", 12),
        (b"Content-Length: 12\r\nContent-Length: 12\r\n", 12),
        (b"Transfer-Encoding: chunked\r\n", None),
    ],
)
def test_how_long_a_body_is(headers: bytes, expected: int | None) -> None:
    assert wire.body_length(wire.parse_request(b"POST / HTTP/1.1\r\n" + headers + b"\r\n")) == expected


@pytest.mark.parametrize("value", [b"-1", b"+1", b"1, 1", b"0x1", b"1\r\nContent-Length: 2"])
def test_a_length_that_can_be_read_two_ways_is_refused(value: bytes) -> None:
    request = wire.parse_request(b"POST / HTTP/1.1\r\nContent-Length: " + value + b"\r\n\r\n")
    with pytest.raises(BadHead):
        wire.body_length(request)


@pytest.mark.parametrize(
    ("headers", "upgrade", "websocket", "alive"),
    [
        (b"Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n", True, False, True),
        (b"connection: keep-alive, upgrade\r\nupgrade: WebSocket\r\n", True, True, True),
        (b"Upgrade: websocket\r\n", False, False, True),
        (b"Connection: close\r\n", False, False, False),
    ],
)
def test_what_becomes_of_the_connection(headers: bytes, upgrade: bool, websocket: bool, alive: bool) -> None:
    request = wire.parse_request(b"GET / HTTP/1.1\r\n" + headers + b"\r\n")
    assert (request.wants_upgrade, request.wants_websocket, request.keeps_alive) == (upgrade, websocket, alive)


def test_response_heads() -> None:
    answer = Answer(code=429, headers=(("Retry-After", "60"),))
    assert wire.response_head(answer, length=5, closes=False) == (
        b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 60\r\n"
        b"Content-Length: 5\r\n\r\n"
    )
    assert wire.response_head(Answer(), length=None, closes=False).endswith(b"Transfer-Encoding: chunked\r\n\r\n")
    assert wire.response_head(Answer(), length=None, closes=True).endswith(b"utf-8\r\nConnection: close\r\n\r\n")
    assert wire.chunk(b"x" * 17) == b"11\r\n" + b"x" * 17 + b"\r\n"


def test_heads_of_others_responses() -> None:
    head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\n\r\n"
    assert wire.parse_response(head) == (101, {"upgrade": "SPDY/3.1"})
    assert wire.parse_response(b"HTTP/1.1 404\r\n\r\n") == (404, {})
    with pytest.raises(BadHead):
        wire.parse_response(b"ICY 200 OK\r\n\r\n")
