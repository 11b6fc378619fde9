"""exec, attach and port-forward: bytes go through unread, whatever they are."""

import asyncio
import os

import aiohttp
import pytest
from aiohttp import web
from tests.adapters.nodeserver.stage import RawClient, Stage, streaming_server

from flexlet.errors import RuntimeFault

SPDY = (
    b"Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
    b"X-Stream-Protocol-Version: v4.channel.k8s.io\r\nX-Stream-Protocol-Version: v3.channel.k8s.io\r\n"
    b"Content-Length: 0\r\n"
)
SWITCHED = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
    b"X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n"
)
EXEC = b"POST /exec/default/web/app?command=ls&command=-l&input=1&output=1 HTTP/1.1\r\n" + SPDY + b"\r\n"


async def upgraded(stage: Stage, request: bytes = EXEC) -> RawClient:
    client = await stage.connect()
    await client.send(request)
    assert await client.head() == SWITCHED
    return client


async def test_heads_and_bytes_pass_verbatim_both_ways(stage: Stage) -> None:
    """Also bytes that came in one packet with a head, and frames that look like anything but HTTP."""
    heads: list[bytes] = []
    payload = os.urandom(300_000)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(SWITCHED + b"\x80\x03\x00\x01early")
        assert await reader.readexactly(4) == b"\r\n\r\n"
        writer.write(await reader.readexactly(len(payload)))
        await writer.drain()

    async with streaming_server(talk) as stage.runtime.url:
        client = await upgraded(stage)
        assert await client.reader.readexactly(9) == b"\x80\x03\x00\x01early"
        await client.send(b"\r\n\r\n" + payload)
        assert await client.rest() == payload
        await client.close()
    assert heads == [b"POST /exec/TOKEN?x=1 HTTP/1.1\r\n" + SPDY + b"X-Forwarded-For: 127.0.0.1\r\n\r\n"]
    asked = {"stdin": True, "stdout": True, "stderr": False, "tty": False}
    assert stage.runtime.calls == [("exec", "c1", ["ls", "-l"], asked)]


async def test_bytes_sent_before_the_answer_are_passed_on(stage: Stage) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(SWITCHED)
        writer.write(await reader.readexactly(5))
        await writer.drain()

    async with streaming_server(talk) as stage.runtime.url:
        client = await stage.connect()
        await client.send(EXEC + b"early")
        assert await client.head() == SWITCHED
        assert await client.rest() == b"early"
        await client.close()


async def test_the_runtimes_side_ends_with_the_client(stage: Stage) -> None:
    ended = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(SWITCHED)
        assert await reader.read() == b""
        ended.set()

    async with streaming_server(talk) as stage.runtime.url:
        client = await upgraded(stage)
        await client.close()
        await asyncio.wait_for(ended.wait(), 10)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone", b""),
        (b"HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", b""),
        (b"HTTP/1.1 500 Oops\r\n\r\nuntil the end", b"close"),
    ],
)
async def test_the_runtimes_refusal_is_passed_on_and_ends_the_connection(
    stage: Stage, answer: bytes, expected: bytes
) -> None:
    """Even if the runtime would keep its connection open."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        if not expected:
            await reader.read()

    async with streaming_server(talk) as stage.runtime.url:
        client = await stage.connect()
        await client.send(EXEC)
        assert await client.rest() == answer
        await client.close()


async def test_an_answer_that_is_neither_is_an_error(stage: Stage) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async with streaming_server(talk) as stage.runtime.url:
        client = await stage.connect()
        await client.send(EXEC)
        assert await client.answer() == (500, b"invalid upgrade response: status code 200\n")
        await client.close()


async def test_a_runtime_that_hangs_up_and_one_that_is_away(stage: Stage) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del writer
        await reader.readuntil(b"\r\n\r\n")

    async with streaming_server(talk) as stage.runtime.url:
        client = await stage.connect()
        await client.send(EXEC)
        code, body = await client.answer()
        assert (code, body[:34]) == (500, b"error reading the runtime's answer")
        await client.close()
    client = await stage.connect()
    await client.send(EXEC)
    code, body = await client.answer()
    assert (code, body[:21]) == (500, b"error dialing backend")
    await client.close()


async def test_websockets_pass(stage: Stage, client: aiohttp.ClientSession) -> None:
    """The runtime's own WebSocket server and a client's join as if nothing were between them."""

    async def echo(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=["v4.channel.k8s.io"])
        await socket.prepare(request)
        async for message in socket:
            await socket.send_bytes(b"\x01" + message.data[1:])
        return socket

    app = web.Application()
    app.router.add_get("/attach/TOKEN", echo)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    stage.runtime.url = f"http://127.0.0.1:{runner.addresses[0][1]}/attach/TOKEN"
    try:
        url = "/attach/default/web/u1/app?input=1&output=1&error=1"
        async with client.ws_connect(url, protocols=["v4.channel.k8s.io"]) as socket:
            assert socket.protocol == "v4.channel.k8s.io"
            for text in (b"hello", b"x" * 200_000):
                await socket.send_bytes(b"\x00" + text)
                assert await socket.receive_bytes() == b"\x01" + text
    finally:
        await runner.cleanup()
    asked = {"stdin": True, "stdout": True, "stderr": False, "tty": True}
    assert stage.runtime.calls == [("attach", "c1", asked)]


@pytest.mark.parametrize(
    ("request_line", "code", "body"),
    [
        ("POST /exec/default/web/app?command=ls", 400, "you must specify at least 1 of stdin, stdout, stderr"),
        ("POST /exec/default/web/app?error=1&tty=1", 400, "you must specify at least 1 of stdin, stdout, stderr"),
        ("POST /exec/default/none/app?output=1", 404, "pod does not exist"),
        ("POST /exec/default/web/idle?output=1", 500, 'container not found ("idle")'),
        ("POST /exec/default/web/other/app?output=1", 500, 'container not found ("app")'),
        ("GET /attach/default/web/none?output=1", 500, "container none not found in pod web_default"),
        ("POST /portForward/default/none", 404, "pod does not exist"),
        ("POST /portForward/default/web/other", 404, "pod not found"),
        ("PUT /exec/default/web/app?output=1", 405, "405: Method Not Allowed"),
        ("POST /exec/default/web", 404, "404: Page Not Found"),
    ],
)
async def test_refusals(stage: Stage, request_line: str, code: int, body: str) -> None:
    client = await stage.connect()
    await client.send(f"{request_line} HTTP/1.1\r\n".encode() + SPDY + b"\r\n")
    assert await client.answer() == (code, body.encode())
    assert stage.runtime.calls == []
    await client.close()


async def test_without_an_upgrade_nothing_is_asked_of_the_runtime(
    stage: Stage, client: aiohttp.ClientSession
) -> None:
    for path in ("/exec/default/web/app?command=ls&output=1", "/portForward/default/web"):
        async with client.post(path) as answer:
            assert (answer.status, await answer.text()) == (500, "Upgrade request required\n")
    assert stage.runtime.calls == []


@pytest.mark.parametrize(
    ("code", "status", "retries"),
    [("NotFound", 404, False), ("ResourceExhausted", 429, True), ("Internal", 500, False)],
)
async def test_what_the_runtime_refuses_beforehand(stage: Stage, code: str, status: int, retries: bool) -> None:
    stage.runtime.fault = RuntimeFault("rpc error: no", code=code)
    client = await stage.connect()
    await client.send(EXEC)
    head = (await client.head()).decode()
    assert (head.split()[1], "Retry-After: 60\r\n" in head) == (str(status), retries)
    assert await client.reader.readexactly(13) == b"rpc error: no"
    await client.close()


@pytest.mark.parametrize(
    ("query", "ports"), [("?port=80&port=443", [80, 443]), ("?port=80,443", [80, 443]), ("?port=1", [1])]
)
async def test_a_websocket_names_its_ports(stage: Stage, query: str, ports: list[int]) -> None:
    stage.runtime.fault = RuntimeFault("stop here", code="NotFound")
    client = await stage.connect()
    head = b"Host: n\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    await client.send(f"GET /portForward/default/web/u1{query} HTTP/1.1\r\n".encode() + head)
    assert await client.answer() == (404, b"stop here")
    assert stage.runtime.calls == [("portForward", "s1", ports)]
    await client.close()


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("", 'query parameter "port" is required'),
        ("?port=", 'query parameter "port" cannot be empty'),
        ("?port=80,x", 'unable to parse "80,x" as a port: strconv.ParseUint: parsing "x": invalid syntax'),
        (
            "?port=65536",
            'unable to parse "65536" as a port: strconv.ParseUint: parsing "65536": value out of range',
        ),
        ("?port=0", 'port "0" must be > 0'),
    ],
)
async def test_ports_that_are_none(stage: Stage, query: str, body: str) -> None:
    client = await stage.connect()
    head = b"Host: n\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    await client.send(f"GET /portForward/default/web{query} HTTP/1.1\r\n".encode() + head)
    assert await client.answer() == (400, body.encode())
    await client.close()


async def test_port_forward_over_spdy_names_no_ports(stage: Stage) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(SWITCHED)

    async with streaming_server(talk) as stage.runtime.url:
        client = await upgraded(stage, b"POST /portForward/default/web?port=80 HTTP/1.1\r\n" + SPDY + b"\r\n")
        await client.close()
    assert stage.runtime.calls == [("portForward", "s1", [])]


async def test_run_answers_with_all_output_or_how_the_command_failed(
    stage: Stage, client: aiohttp.ClientSession
) -> None:
    async with client.post("/run/default/web/app?cmd=ls%20-l") as answer:
        assert (answer.status, await answer.read()) == (200, b"outerr")
    stage.runtime.result = type(stage.runtime.result)(b"", b"no such file", 2)
    async with client.post("/run/default/web/u1/app?cmd=ls%20x") as answer:
        assert (answer.status, await answer.text()) == (500, "command 'ls x' exited with 2: no such file")
    async with client.post("/run/default/web/idle?cmd=ls") as answer:
        assert (answer.status, await answer.text()) == (500, 'container not found ("idle")')
    assert stage.runtime.calls == [("run", "c1", ["ls", "-l"], 0), ("run", "c1", ["ls", "x"], 0)]
