"""The embedded API server with a node behind it that runs what tests give it instead of containers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
from tests.adapters.nodeserver.spdyruntime import Session
from tests.apiserver.proxy.nodepairs import node_pair

from flexlet.adapters.clock import SystemClock
from flexlet.adapters.kube import kubeconfig
from flexlet.adapters.kube.kubeconfig import Credentials
from flexlet.adapters.nodeserver import tls
from flexlet.apiserver.proxy.spdy import frames
from flexlet.apiserver.server import Settings, serving
from flexlet.ports.cluster import NODES, PODS, Cluster

NODE = "n1"
SUCCESS = b'{"metadata":{},"status":"Success"}'
UPGRADED = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
    b"X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n"
)


def failed(code: int) -> bytes:
    """How a kubelet tells of an exit code."""
    causes = [{"reason": "ExitCode", "message": str(code)}]
    text = f"command terminated with non-zero exit code: exit status {code}"
    body = {"metadata": {}, "status": "Failure", "message": text, "reason": "NonZeroExitCode"}
    return msgspec.json.encode(body | {"details": {"causes": causes}})


class Running:
    """A command as the node sees it."""

    def __init__(self, session: Session, command: list[str]) -> None:
        self._session = session
        self.command = command

    async def input(self) -> AsyncIterator[bytes]:
        """What is typed, until that ends."""
        while True:
            frame = await self._session.next()
            if frame.stream == self._session.streams.get("stdin"):
                if frame.payload:
                    yield frame.payload
                if frame.last:
                    return

    async def say(self, kind: str, payload: bytes) -> None:
        """Some more on stdout or stderr."""
        self._session._writer.write(frames.data(self._session.streams[kind], payload))
        await self._session._writer.drain()


Program = Callable[[Running], Awaitable[bytes | None]]
"""Says how it ended; None: the node breaks down."""


class FakeNode:
    """One node with pod ``default/db`` on it, whose container is called compute."""

    def __init__(self, place: Path) -> None:
        self.program: Program = ends_well
        self.asked: list[tuple[str, list[str]]] = []
        self._kubeconfig = place

    def credentials(self) -> Credentials:
        """The administrator's."""
        return kubeconfig.load(self._kubeconfig)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the API server."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            where = urlsplit(head.split(" ")[1])
            self.asked.append((where.path, parse_qs(where.query)["command"]))
            writer.write(UPGRADED)
            session = Session(reader, writer)
            await session.opened(4)
            ended = await self.program(Running(session, self.asked[-1][1]))
            if ended is not None:
                for kind, payload in (("stdout", b""), ("stderr", b""), ("error", ended)):
                    session.say(kind, payload)
                await writer.drain()
                await reader.read()
        writer.close()


async def ends_well(running: Running) -> bytes:
    """Nothing to do."""
    del running
    return SUCCESS


@contextlib.asynccontextmanager
async def fake_node(folder: Path) -> AsyncIterator[FakeNode]:
    """A cluster for as long as the block lasts."""
    settings = Settings(data=folder / "data", node_hosts={NODE: "127.0.0.1"})
    async with serving(settings, SystemClock()) as server:
        (folder / "kubeconfig").write_text(server.kubeconfig())
        node = FakeNode(folder / "kubeconfig")
        pair = node_pair(server.pki, NODE)
        context = tls.serving_context(pair.certificate_pem, pair.key_pem, server.pki.ca_pem.encode())
        listener = await asyncio.start_server(node.serve, "127.0.0.1", 0, ssl=context)
        async with listener:
            await register(server.cluster, listener.sockets[0].getsockname()[1])
            yield node


async def register(api: Cluster, port: int) -> None:
    """Let a server know the node, and the pod on it."""
    await api.create(NODES, "", {"metadata": {"name": NODE}})
    addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
    status: dict[str, Any] = {"addresses": addresses, "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}
    await api.patch(NODES, "", NODE, {"status": status}, subresource="status")
    containers = [{"name": "compute", "image": "i"}]
    spec = {"nodeName": NODE, "automountServiceAccountToken": False, "containers": containers}
    await api.create(PODS, "default", {"metadata": {"name": "db"}, "spec": spec})
