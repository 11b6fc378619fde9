"""Clients that send half of something, or read nothing: each is bounded in time, number and bytes."""

import asyncio
import json
import resource
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
import pytest_asyncio
from tests.apiserver.http.client import Client

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver.http.connections import abort
from flexlet.apiserver.http.wire import Wire
from flexlet.apiserver.server import ApiServer, Settings, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAPS = "/api/v1/namespaces/default/configmaps"
SHORT = Wire(
    handshake_s=0.5,
    header_s=0.5,
    body_s=0.5,
    write_s=1.0,
    stall_s=0.5,
    strangers=40,
    connections=5,
    unread_bytes=2_000_000,
)
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ApiServer]:
    """A server that is short of patience."""
    settings = Settings(data=tmp_path_factory.mktemp("server"), wire=SHORT)
    async with serving(settings, SystemClock()) as running:
        yield running


class Sockets:
    """Plain connections to a server, as one user or as nobody."""

    def __init__(self, server: ApiServer, directory: Path, user: str = "", groups: tuple[str, ...] = ()) -> None:
        place = urlsplit(server.url)
        self._host, self._port = place.hostname, place.port
        self._tls = ssl.create_default_context(cadata=server.pki.ca_pem)
        if user:
            credential = server.pki.client(user, list(groups), time.time())
            path = directory / f"{user}-socket.pem"
            path.write_bytes(credential.certificate_pem + credential.key_pem)
            self._tls.load_cert_chain(path)
        self._open: list[asyncio.StreamWriter] = []

    async def connect(self, sent: bytes = b"", *, tls: bool = True) -> Stream:
        """One connection that has sent some bytes and will read no more than it is asked to."""
        context = self._tls if tls else None
        stream = await asyncio.open_connection(self._host, self._port, ssl=context, limit=1024)
        self._open.append(stream[1])
        stream[1].write(sent)
        await stream[1].drain()
        return stream

    def close(self) -> None:
        for writer in self._open:
            abort(writer.transport)
            writer.close()
        self._open.clear()


@pytest_asyncio.fixture(loop_scope="module")
async def strangers(server: ApiServer, tmp_path: Path) -> AsyncIterator[Sockets]:
    sockets = Sockets(server, tmp_path)
    yield sockets
    sockets.close()
    await asyncio.sleep(0.05)


@pytest_asyncio.fixture(loop_scope="module")
async def masters(server: ApiServer, tmp_path: Path) -> AsyncIterator[Sockets]:
    sockets = Sockets(server, tmp_path, "root", ("system:masters",))
    yield sockets
    sockets.close()
    await asyncio.sleep(0.05)


async def ends(stream: Stream, within: float = 5.0) -> bytes:
    """What a connection still says before its server closes it; long before the time without a bound."""
    found = b""
    async with asyncio.timeout(within):
        try:
            while data := await stream[0].read(65536):
                found += data
        except ConnectionError:
            pass
    return found


async def eventually(is_so: Callable[[], bool], within: float = 10.0) -> None:
    async with asyncio.timeout(within):
        while not is_so():  # noqa: ASYNC110  counters tell nobody
            await asyncio.sleep(0.02)


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


async def test_half_sent_headers_are_not_waited_for(strangers: Sockets) -> None:
    """Neither at once, nor dripping, nor after a request that was answered."""
    halves = [await strangers.connect(b"GET /api HTTP/1.1\r\nHost: x\r\n") for _ in range(20)]
    silent = await strangers.connect()
    second = await strangers.connect(get("/version"))
    assert (await second[0].readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    second[1].write(b"GET /vers")
    dripping = await strangers.connect(b"GET /api HTTP/1.1\r\n")
    for _ in range(10):
        dripping[1].write(b"X")
        await asyncio.sleep(0.02)
    for stream in (*halves, silent, second, dripping):
        await ends(stream)


async def test_a_connection_without_a_handshake_is_not_waited_for(strangers: Sockets) -> None:
    assert await ends(await strangers.connect(b"\x16\x03\x01", tls=False)) == b""


async def test_half_sent_bodies_are_not_waited_for(masters: Sockets) -> None:
    head = f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    halves = [await masters.connect(head.encode() + b'{"metadata"') for _ in range(20)]
    for stream in halves:
        assert (await stream[0].readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 400")
        async with asyncio.timeout(5):
            told = await stream[0].read(1000)
        assert b"the body did not arrive within 0.5 s" in told


async def test_an_answer_that_nobody_reads_is_given_up(admin: Client, masters: Sockets) -> None:
    for index in range(8):
        await admin.ask("POST", MAPS, {"metadata": {"name": f"large-{index}"}, "data": {"k": "x" * 900_000}})
    unread = await masters.connect(get(MAPS))
    begun = time.monotonic()
    await asyncio.sleep(2)
    said = await ends(unread)
    assert len(said) < 7_000_000
    assert time.monotonic() - begun < 8
    metrics = (await admin.ask("GET", "/metrics")).body.decode()
    assert 'flexlet_connections_closed_total{reason="reading"} 1' in metrics
    await admin.ask("DELETE", MAPS)


async def test_of_too_many_strangers_the_one_that_was_silent_longest_goes(
    strangers: Sockets, admin: Client
) -> None:
    first = await strangers.connect()
    for _ in range(SHORT.strangers):
        await strangers.connect()
    await ends(first, within=0.4)
    assert (await admin.ask("GET", "/version")).status == 200
    strangers.close()


async def test_a_user_has_so_many_connections(server: ApiServer, tmp_path: Path) -> None:
    """One more is told so; when one is closed there is room again."""
    bobs = Sockets(server, tmp_path, "bob", ("devs",))
    streams = [await bobs.connect(get("/version")) for _ in range(SHORT.connections)]
    for stream in streams:
        assert (await stream[0].readuntil(b"\r\n")) == b"HTTP/1.1 200 OK\r\n"
    more = await bobs.connect(get("/version"))
    head = await more[0].readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 429")
    assert b"Retry-After: 1" in head
    abort(streams[0][1].transport)
    await asyncio.sleep(0.1)
    again = await bobs.connect(get("/version"))
    assert (await again[0].readuntil(b"\r\n")) == b"HTTP/1.1 200 OK\r\n"
    bobs.close()


async def rewrite(admin: Client, times: int, size: int) -> list[str]:
    """One large object rewritten again and again; the versions it had."""
    body = {"metadata": {"name": "large"}, "data": {"k": "x" * size}}
    versions = [(await admin.ask("POST", MAPS, body)).json["metadata"]["resourceVersion"]]
    for index in range(times):
        body["data"] = {"k": "x" * size, "n": str(index)}
        answer = await admin.ask("PUT", f"{MAPS}/large", body)
        versions.append(answer.json["metadata"]["resourceVersion"])
    return versions


async def follow(admin: Client, version: str, count: int) -> list[str]:
    """The versions a watch that is read shows; one that is cut off while all are busy goes on where it was."""
    found: list[str] = []
    while len(found) < count:
        path = f"{MAPS}?watch=1&resourceVersion={found[-1] if found else version}"
        with suppress(aiohttp.ClientError):
            async with admin.stream(path) as stream:
                while len(found) < count:
                    line = await stream.content.readuntil(b"}\n")
                    found.append(json.loads(line)["object"]["metadata"]["resourceVersion"])
    return found


async def watched_by_many(server: ApiServer, admin: Client, sockets: Sockets, count: int) -> None:
    """Watchers that do not read are cut off, cost no more than their bound, and one that reads misses nothing."""
    store = server.rest.backend.store
    before, dropped = store.statistics().watchers, store.statistics().dropped_watchers
    version = (await admin.ask("GET", MAPS)).json["metadata"]["resourceVersion"]
    path = f"{MAPS}?watch=1&resourceVersion={version}"
    for _ in range(count):
        stream = await sockets.connect(get(path))
        await stream[0].readuntil(b"\r\n\r\n")
    assert store.statistics().watchers == before + count
    base = resident()
    async with AsyncExitStack() as stack:
        stack.callback(sockets.close)
        reading = asyncio.create_task(follow(admin, version, 31))
        await asyncio.sleep(0.1)
        versions = await rewrite(admin, 30, 300_000)
        assert await reading == versions
        await eventually(lambda: store.statistics().watchers <= before, within=60)
    assert store.statistics().dropped_watchers >= dropped + count
    # A queue of these for each would be 9 MB: 9 GB for a thousand of them.
    assert resident() - base < 60_000_000 + count * 200_000
    await admin.ask("DELETE", f"{MAPS}/large")


def resident() -> int:
    """VmRSS of this process, which is the clients and the server."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.slow
async def test_watchers_that_do_not_read_are_cut_off(server: ApiServer, admin: Client, masters: Sockets) -> None:
    await watched_by_many(server, admin, masters, 40)


async def test_a_connection_that_has_ended_is_aborted_without_a_word(strangers: Sockets) -> None:
    """Python 3.11.2, which is Debian 12's, raises there; the look at all connections would end."""
    _, writer = await strangers.connect()
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()
    await asyncio.sleep(0.05)
    abort(writer.transport)
    abort(None)
