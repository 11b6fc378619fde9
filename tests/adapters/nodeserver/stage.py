"""A node for its endpoint to show: one pod, a runtime that only streams, an API server that only reviews."""

import asyncio
import contextlib
import functools
import ssl
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from tests.apiserver.proxy.nodepairs import signed
from tests.engine.fakes import FakeClock

from flexlet.adapters.meters import Ledger
from flexlet.adapters.nodeserver import tls
from flexlet.adapters.nodeserver.endpoint import Endpoint
from flexlet.adapters.nodeserver.server import NodeServer
from flexlet.adapters.nodeserver.settings import Settings
from flexlet.apiserver.auth import certificates
from flexlet.apiserver.auth.certificates import Credential
from flexlet.core.logs.runs import Reported
from flexlet.core.runtime.shown import ExecResult, FilesystemUse
from flexlet.core.stats.sources import ContainerSource, NodeSource, PodSource
from flexlet.ports.cluster import Ref
from flexlet.ports.nodeviews import ContainerView, PodView, Run

if TYPE_CHECKING:
    from flexlet.api.status import ApiError
    from flexlet.errors import RuntimeFault

NODE = "n1"


class Authority:
    """Issues certificates for a test."""

    def __init__(self, name: str = "ca") -> None:
        self.credential = certificates.new_authority(name, time.time())

    @property
    def pem(self) -> bytes:
        return self.credential.certificate_pem

    def serving(self) -> Credential:
        """The endpoint's own, with the subject that the cluster's signer gives nodes."""
        return signed(self.credential, NODE, NODE, "127.0.0.1", "localhost")

    def client(self, name: str, *groups: str) -> Credential:
        return certificates.issue_client(self.credential, name, groups, time.time(), 1)

    def server_context(self) -> ssl.SSLContext:
        pair = self.serving()
        return tls.serving_context(pair.certificate_pem, pair.key_pem, self.pem)

    def client_context(self, credential: Credential | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.pem.decode())
        if credential is not None:
            with tempfile.NamedTemporaryFile() as pair:
                pair.write(credential.certificate_pem + credential.key_pem)
                pair.flush()
                context.load_cert_chain(pair.name)
        return context


@functools.cache
def _authority() -> Authority:
    """One for all tests: keys take time."""
    return Authority()


class FakeReviews:
    """An API server that knows tokens and allows what it is told to."""

    def __init__(self) -> None:
        self.tokens = {"good": {"username": "metrics", "uid": "7", "groups": ["ops"], "extra": {"k": ["v"]}}}
        self.allowed: set[str] | None = None
        """Subresources; None: all."""
        self.asked: list[dict[str, Any]] = []
        self.faults: list[ApiError] = []

    async def create(self, ref: Ref, namespace: str, body: dict[str, Any], *, path: str = "") -> bytes:
        assert (namespace, path, body["apiVersion"]) == ("", "", f"{ref.group}/v1")
        self.asked.append(body["spec"])
        if self.faults:
            raise self.faults.pop(0)
        if ref.plural == "tokenreviews":
            user = self.tokens.get(body["spec"]["token"])
            found: dict[str, Any] = {"authenticated": True, "user": user} if user else {"error": "no"}
        else:
            name = body["spec"]["resourceAttributes"]["subresource"]
            found = {"allowed": self.allowed is None or name in self.allowed}
        return msgspec.json.encode({"kind": body["kind"], "status": found})


class FakeRuntime:
    """Gives out the address of a fake streaming server, or refuses."""

    def __init__(self) -> None:
        self.url = ""
        self.fault: RuntimeFault | None = None
        self.calls: list[tuple[Any, ...]] = []
        self.result = ExecResult(b"out", b"err", 0)
        self.filesystems: tuple[FilesystemUse, ...] = ()

    def _answer(self, *call: Any) -> str:
        self.calls.append(call)
        if self.fault is not None:
            raise self.fault
        return self.url

    async def exec_url(self, container_id: str, command: Sequence[str], **streams: bool) -> str:
        return self._answer("exec", container_id, list(command), streams)

    async def attach_url(self, container_id: str, **streams: bool) -> str:
        return self._answer("attach", container_id, streams)

    async def port_forward_url(self, sandbox_id: str, ports: Sequence[int]) -> str:
        return self._answer("portForward", sandbox_id, list(ports))

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_s: int) -> ExecResult:
        self._answer("run", container_id, list(command), timeout_s)
        return self.result

    async def image_filesystems(self) -> tuple[FilesystemUse, ...]:
        return self.filesystems


class FakeCgroups:
    """Files of cgroups by path."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, str]] = {}
        self.pids: dict[str, tuple[int, ...]] = {}

    async def read(self, path: str, files: Sequence[str]) -> dict[str, str]:
        return {name: text for name, text in self.files.get(path, {}).items() if name in files}

    async def processes(self, path: str) -> tuple[int, ...]:
        return self.pids.get(path, ())

    async def children(self, path: str) -> tuple[str, ...]:
        names = (each.removeprefix(f"{path}/") for each in self.files if each.startswith(f"{path}/"))
        return tuple(sorted(name for name in names if "/" not in name))


class FakeViews:
    """The agent's side: the pod ``default/web``."""

    def __init__(self) -> None:
        self.log_path = ""
        self.trouble = ""
        self.running = {"c1"}
        self.reported: Reported | None = Reported(running="c1", last_terminated="c0")
        self.source = NodeSource(name=NODE)

    def health(self) -> str:
        return self.trouble

    def pod(self, namespace: str, name: str) -> PodView | None:
        if (namespace, name) != ("default", "web"):
            return None
        runs = (Run("c1", self.log_path, "c1" in self.running), Run("c0", self.log_path + ".old"))
        app = ContainerView(name="app", tty=True, reported=self.reported, runs=runs)
        idle = ContainerView(name="idle", reported=Reported(waiting="ContainerCreating"))
        lost = ContainerView(name="lost", reported=Reported(running="gone"))
        containers = (app, idle, lost)
        return PodView(
            namespace=namespace, name=name, uid="u1", mirror_uid="m1", sandbox_id="s1", containers=containers
        )

    def is_running(self, container_id: str) -> bool:
        return container_id in self.running

    def desired_pods(self) -> bytes:
        return b'{"kind":"PodList","items":[]}'

    def running_pods(self) -> bytes:
        return b'{"kind":"PodList","items":[{}]}'

    def configuration(self) -> bytes:
        return b'{"maxPods":110}'

    def to_measure(self) -> NodeSource:
        return self.source


class Stage:
    """Everything around one endpoint."""

    def __init__(self) -> None:
        self.authority = _authority()
        self.reviews = FakeReviews()
        self.runtime = FakeRuntime()
        self.cgroups = FakeCgroups()
        self.views = FakeViews()
        self.ledger = Ledger()
        self.clock = FakeClock(1_780_000_000.0)
        self.server: NodeServer | None = None

    @contextlib.asynccontextmanager
    async def serving(self, **settings: Any) -> AsyncIterator["Stage"]:
        """The endpoint on a free port."""
        usual: dict[str, Any] = {"node_name": NODE, "address": "127.0.0.1", "port": 0, "health_port": 0}
        chosen = Settings(**(usual | settings))
        endpoint = Endpoint(
            chosen,
            self.views,
            self.runtime,  # type: ignore[arg-type]  # as much as the endpoint calls
            self.cgroups,  # type: ignore[arg-type]
            self.reviews,  # type: ignore[arg-type]
            self.ledger,
            self.clock,
        )
        self.server = NodeServer.open(chosen, endpoint, self.authority.server_context())
        task = asyncio.create_task(self.server.serve())
        try:
            yield self
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    @property
    def url(self) -> str:
        assert self.server is not None
        return f"https://127.0.0.1:{self.server.port}"

    def admin(self) -> ssl.SSLContext:
        """TLS as the API server's own client."""
        return self.authority.client_context(self.authority.client("kube-apiserver", "system:masters"))

    async def connect(self, context: ssl.SSLContext | None = None) -> "RawClient":
        assert self.server is not None
        ends = await asyncio.open_connection("127.0.0.1", self.server.port, ssl=context or self.admin())
        return RawClient(*ends)


class RawClient:
    """A client that counts bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> bytes:
        return await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 10)

    async def answer(self) -> tuple[int, bytes]:
        """Code and body of a response with a length."""
        head = await self.head()
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
        body = await self.reader.readexactly(int(fields[b"Content-Length"]))
        return int(head.split()[1]), body

    async def rest(self) -> bytes:
        return await asyncio.wait_for(self.reader.read(), 10)

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def streaming_server(talk: Talk) -> AsyncIterator[str]:
    """A runtime's streaming server, as far as bytes go."""

    async def session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await talk(reader, writer)
        writer.close()

    server = await asyncio.start_server(session, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/exec/TOKEN?x=1"


def pod_source(cgroup: str = "kubepods/podu1", **more: Any) -> PodSource:
    container = ContainerSource(name="app", id="c1", cgroup=f"{cgroup}/c1", image="img", started_at=1_779_999_000)
    about: Mapping[str, Any] = {"namespace": "default", "name": "web", "uid": "u1", "cgroup": cgroup}
    return PodSource(**{**about, "containers": (container,), "started_at": 1_779_998_990, **more})


def write_log(path: Path, *texts: str) -> None:
    path.write_text("".join(f"2020-01-01T00:00:00Z stdout F {text}\n" for text in texts))
