"""Commands in containers through the embedded API server, and what a server that speaks v4 only makes of it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from tests.adapters.kube.fakenode import SUCCESS, FakeNode, Running, failed

from flexlet.adapters.kube import execstatus
from flexlet.adapters.kube.exec import Exec, Process
from flexlet.adapters.kube.execstatus import STDERR, STDOUT
from flexlet.adapters.kube.kubeconfig import Credentials
from flexlet.api.status import ApiError, BadRequest, NotFound


async def shouts(running: Running) -> bytes:
    """Answers each piece at once, and tells at the end that it is over."""
    async for piece in running.input():
        await running.say("stdout", piece.upper())
    await running.say("stderr", b"over\n")
    return failed(7)


async def told(process: Process) -> list[tuple[int, bytes]]:
    return [piece async for piece in process.output()]


async def test_a_command_is_given_input_and_answers(node: FakeNode) -> None:
    node.program = shouts
    words = ["sh", "-c", "a b&c"]
    async with Exec(node.credentials()) as client, client.start("default", "db", "compute", words) as process:
        output = process.output()
        for piece in (b"one", b"two"):
            await process.write(piece)
            assert await anext(output) == (STDOUT, piece.upper())
        await process.end_input()
        assert [piece async for piece in output] == [(STDERR, b"over\n")]
        assert process.exit_code() == 7
    assert node.asked == [("/exec/default/db/compute", words)]


async def test_leaving_hangs_up(node: FakeNode) -> None:
    """The node sees the connection end, after all that was sent before; and nothing is left open here."""
    got, over = bytearray(), asyncio.Event()

    async def listens(running: Running) -> bytes:
        try:
            async for piece in running.input():
                got.extend(piece)
        finally:
            over.set()
        return SUCCESS

    node.program = listens
    async with Exec(node.credentials()) as client:
        async with client.start("default", "db", "compute", ["cat"]) as process:
            await process.write(bytes(100_000))
            connection = process._socket.get_extra_info("socket")
        assert connection.fileno() == -1
        await over.wait()
    assert bytes(got) == bytes(100_000)


@pytest.mark.parametrize(
    ("pod", "container", "error", "text"),
    [
        ("gone", "compute", NotFound, 'pods "gone" not found'),
        ("db", "nobody", BadRequest, "container nobody is not valid for pod db"),
    ],
)
async def test_what_the_server_refuses_is_told_in_its_words(
    node: FakeNode, pod: str, container: str, error: type[ApiError], text: str
) -> None:
    async with Exec(node.credentials()) as client:
        with pytest.raises(error) as refused:
            await client.start("default", pod, container, ["ls"]).__aenter__()
    assert str(refused.value) == text


async def test_a_node_that_breaks_down_in_the_middle(node: FakeNode) -> None:
    async def breaks(running: Running) -> None:
        await running.say("stdout", b"so far")

    node.program = breaks
    async with Exec(node.credentials()) as client, client.start("default", "db", "compute", ["ls"]) as process:
        output = process.output()
        assert await anext(output) == (STDOUT, b"so far")
        with pytest.raises(
            ApiError, match="exec of `ls` in default/db broke off: closed with code 1000"
        ) as broken:
            await anext(output)
    assert broken.value.code == 503


async def test_nobody_answers() -> None:
    async with Exec(Credentials(server="http://127.0.0.1:1")) as client:
        with pytest.raises(ApiError, match="exec of `ls` in default/db broke off: Cannot connect") as broken:
            await client.start("default", "db", "compute", ["ls"]).__aenter__()
    assert broken.value.code == 503


@contextlib.asynccontextmanager
async def old_server() -> AsyncIterator[tuple[Credentials, list[bytes]]]:
    """A server that knows only v4: no half of a stream can end there."""
    seen: list[bytes] = []

    async def execute(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=["v4.channel.k8s.io"])
        await socket.prepare(request)
        seen.append(request.query_string.encode())
        seen.append(request.headers["Authorization"].encode())
        await socket.send_bytes(b"\x01")
        seen.append(await socket.receive_bytes())
        await socket.send_bytes(b"\x01answer")
        await socket.send_bytes(b"\x03" + SUCCESS)
        await socket.close()
        return socket

    app = web.Application()
    app.router.add_get("/api/v1/namespaces/default/pods/db/exec", execute)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield Credentials(server=f"http://127.0.0.1:{runner.addresses[0][1]}", token="secret"), seen
    finally:
        await runner.cleanup()


async def test_an_older_server_is_spoken_to_in_v4() -> None:
    async with (
        old_server() as (credentials, seen),
        Exec(credentials) as client,
        client.start("default", "db", "compute", ["cat", "-"]) as process,
    ):
        await process.end_input()
        await process.write(b"question")
        assert await told(process) == [(STDOUT, b"answer")]
        assert process.exit_code() == 0
    query = b"container=compute&stdin=true&stdout=true&stderr=true&command=cat&command=-"
    assert seen == [query, b"Bearer secret", b"\x00question"]


def test_an_end_that_nobody_understands_is_an_error() -> None:
    with pytest.raises(ApiError, match="the end of a command cannot be read"):
        execstatus.exit_code(b"oops")
    told = b'{"status":"Failure","reason":"InternalError","message":"no such container","code":500}'
    with pytest.raises(ApiError, match="no such container"):
        execstatus.exit_code(told)
    assert execstatus.split(b"") == (STDOUT, b"")
