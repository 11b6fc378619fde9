"""A thousand clients watch and do not read; the server, in a process of its own, keeps its memory and its time."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests import servers
from tests.fuzz.corpus import JSON, Request
from tests.fuzz.pulse import Pulse
from tests.fuzz.wire import Answer, Wire

from flexlet.adapters.kube import kubeconfig
from flexlet.apiserver.http.wire import DEFAULT, MEBIBYTE

WATCHERS = 1000
WRITES = 60
LARGE = "x" * 300_000
MAPS = "/api/v1/namespaces/default/configmaps"
BELOW_TLS = 128 * 1024
"""What one connection holds that is encrypted already: uvloop does not tell, so `unread_bytes` is without it."""
GROWTH = DEFAULT.unread_bytes + WATCHERS * BELOW_TLS + 64 * MEBIBYTE
"""And history of 18 MB, frames, what the reading client is sent. Queues of their own would be 18 GB."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[servers.Running]:
    with servers.flexlet(tmp_path, "server") as found:
        yield found


def answered(wire: Wire, method: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    answer = wire.send(Request(method, path, (), (("Content-Type", JSON),), data))
    assert isinstance(answer, Answer), answer
    assert answer.status < 300, answer
    return json.loads(answer.body)


def watch(url: str, context: ssl.SSLContext, version: str) -> ssl.SSLSocket:
    """A watch whose headers have come."""
    host, _, port = url.removeprefix("https://").partition(":")
    plain = socket.create_connection((host, int(port)), timeout=60)
    connection = context.wrap_socket(plain, server_hostname=host)
    connection.sendall(f"GET {MAPS}?watch=1&resourceVersion={version} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(1)
    assert head.startswith(b"HTTP/1.1 200"), head
    return connection


def follow(connection: ssl.SSLSocket, found: list[str], count: int) -> None:
    """Read a watch to the end of so many events, and note their versions."""
    with connection.makefile("rb") as stream:
        while len(found) < count:
            line = stream.readline()
            if not line:
                return
            if line.startswith(b'{"type"'):
                found.append(json.loads(line)["object"]["metadata"]["resourceVersion"])


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def metric(wire: Wire, name: str) -> float:
    answer = wire.send(Request("GET", "/metrics"))
    assert isinstance(answer, Answer), answer
    return next(float(line.split()[-1]) for line in answer.body.decode().splitlines() if line.startswith(name))


def test_a_thousand_watchers_that_do_not_read(running: servers.Running) -> None:
    credentials = kubeconfig.load(running.kubeconfig)
    context = kubeconfig.ssl_context(credentials)
    with ExitStack() as stack:
        wire, pool = stack.enter_context(Wire(credentials)), stack.enter_context(ThreadPoolExecutor(8))
        body = {"metadata": {"name": "large"}, "data": {"k": LARGE}}
        version = answered(wire, "POST", MAPS, body)["metadata"]["resourceVersion"]
        before = metric(wire, "flexlet_store_watchers ")
        for unread in pool.map(lambda _: watch(running.url, context, version), range(WATCHERS)):
            stack.callback(unread.close)
        assert metric(wire, "flexlet_store_watchers ") == before + WATCHERS
        left = before + 1  # the one that reads
        seen: list[str] = []
        read = stack.enter_context(watch(running.url, context, version))
        reader = threading.Thread(target=follow, args=(read, seen, WRITES))
        reader.start()
        base, grown = resident(running.pid), 0
        written = []
        with Pulse(credentials, running.pid) as pulse:
            for index in range(WRITES):
                body["data"] = {"k": LARGE, "n": str(index)}
                written.append(answered(wire, "PUT", f"{MAPS}/large", body)["metadata"]["resourceVersion"])
                grown = max(grown, resident(running.pid) - base)
            until = time.monotonic() + 3 * DEFAULT.stall_s
            while metric(wire, "flexlet_store_watchers ") > left and time.monotonic() < until:
                grown = max(grown, resident(running.pid) - base)
                time.sleep(0.2)
        reader.join(30)
        assert (seen, pulse.failures()) == (written, [])
        assert metric(wire, "flexlet_store_watchers ") == left
        assert metric(wire, "flexlet_store_dropped_watchers ") == WATCHERS
        assert grown < GROWTH
        assert pulse.worst().stalled_s < 1.0, pulse.worst()
