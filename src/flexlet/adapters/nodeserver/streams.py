"""exec, attach, port-forward and run: find the container, ask the runtime for a stream, hand the connection over.

Codes and texts are the kubelet's. attach uses the terminal that the container was started with, whatever the query
says, and a terminal has no error stream of its own.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from flexlet.adapters.nodeserver import tunnel, wire
from flexlet.adapters.nodeserver.connection import Reply, Takeover
from flexlet.adapters.nodeserver.peer import Peer
from flexlet.adapters.nodeserver.routes import Route
from flexlet.adapters.nodeserver.wire import Answer, Request
from flexlet.core.runtime.shown import ExecResult
from flexlet.errors import RuntimeFault
from flexlet.ports.nodeviews import NodeViews, PodView
from flexlet.ports.runtime import Streams

RETRY_AFTER_S: Final = "60"
NO_POD: Final = wire.text(404, "pod does not exist")


class StreamRuntime(Streams, Protocol):
    """What of the runtime is needed here."""

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_s: int) -> ExecResult:
        """Run a command and wait for it."""
        ...


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which streams a client asks for."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool


class StreamPages:
    """Answers the pages that talk to containers."""

    def __init__(self, views: NodeViews, runtime: StreamRuntime) -> None:
        self._views = views
        self._runtime = runtime

    async def answer(self, route: Route, request: Request, peer: Peer) -> Reply:
        """Answer exec, attach, portForward or run."""
        try:
            if route.page == "run":
                return await self._run(route, request)
            if route.page == "portForward":
                url = await self._port_forward(route, request)
            else:
                url = await self._container_stream(route, request)
        except RuntimeFault as fault:
            return _of_fault(fault)
        if isinstance(url, Answer):
            return url
        return Takeover(lambda reader, writer: tunnel.run(url, request, peer, (reader, writer)))

    async def _container_stream(self, route: Route, request: Request) -> str | Answer:
        wanted = _wanted(request)
        if wanted is None:
            return wire.text(400, "you must specify at least 1 of stdin, stdout, stderr")
        pod = self._views.pod(route.namespace, route.pod)
        if pod is None:
            return NO_POD
        container = pod.container(route.container) if pod.is_called(route.uid) else None
        if container is None or not container.running_id:
            return wire.text(500, _not_found(route, pod))
        if not request.wants_upgrade:
            return wire.error(500, "Upgrade request required")
        if route.page == "exec":
            command = request.query.get("command", [])
            return await self._runtime.exec_url(container.running_id, command, **msgspec.structs.asdict(wanted))
        stderr = wanted.stderr and not container.tty  # CRI refuses both
        asked = msgspec.structs.replace(wanted, tty=container.tty, stderr=stderr)
        return await self._runtime.attach_url(container.running_id, **msgspec.structs.asdict(asked))

    async def _port_forward(self, route: Route, request: Request) -> str | Answer:
        ports = _ports(request)
        if isinstance(ports, str):
            return wire.text(400, ports)
        pod = self._views.pod(route.namespace, route.pod)
        if pod is None:
            return NO_POD
        if not pod.is_called(route.uid):
            return wire.text(404, "pod not found")
        if not pod.sandbox_id:
            return wire.text(500, f'pod not found ("{pod.name}_{pod.namespace}")')
        if not request.wants_upgrade:
            return wire.error(500, "Upgrade request required")
        return await self._runtime.port_forward_url(pod.sandbox_id, ports)

    async def _run(self, route: Route, request: Request) -> Answer:
        pod = self._views.pod(route.namespace, route.pod)
        if pod is None:
            return NO_POD
        container = pod.container(route.container) if pod.is_called(route.uid) else None
        if container is None or not container.running_id:
            return wire.text(500, f'container not found ("{route.container}")')
        command = request.query.get("cmd", [""])[0].split(" ")
        try:
            result = await self._runtime.exec_sync(container.running_id, command, 0)
        except RuntimeFault as fault:
            return wire.text(500, str(fault))
        if result.exit_code:
            said = result.stderr.decode(errors="replace")
            return wire.text(500, f"command '{' '.join(command)}' exited with {result.exit_code}: {said}")
        return Answer(body=result.stdout + result.stderr, content_type=wire.JSON)


def _wanted(request: Request) -> Wanted | None:
    """The streams of the query; a terminal has no error stream of its own. None if there is none."""
    query = request.query
    stdin, stdout, stderr, tty = (query.get(key, [""])[0] == "1" for key in ("input", "output", "error", "tty"))
    stderr = stderr and not tty
    return Wanted(stdin=stdin, stdout=stdout, stderr=stderr, tty=tty) if stdin or stdout or stderr else None


def _not_found(route: Route, pod: PodView) -> str:
    if route.page == "exec":
        return f'container not found ("{route.container}")'
    return f"container {route.container} not found in pod {pod.name}_{pod.namespace}"


def _ports(request: Request) -> tuple[int, ...] | str:
    """The ports of a WebSocket, which must name them beforehand; or what is wrong with them."""
    if not request.wants_websocket:
        return ()
    texts = request.query.get("port", [])
    if not texts:
        return 'query parameter "port" is required'
    ports = []
    for text in texts:
        if not text:
            return 'query parameter "port" cannot be empty'
        for word in text.split(","):
            if not (word.isascii() and word.isdecimal() and int(word) < 1 << 16):
                reason = "value out of range" if word.isascii() and word.isdecimal() else "invalid syntax"
                return f'unable to parse "{text}" as a port: strconv.ParseUint: parsing "{word}": {reason}'
            if not int(word):
                return f'port "{text}" must be > 0'
            ports.append(int(word))
    return tuple(ports)


def _of_fault(fault: RuntimeFault) -> Answer:
    """What the runtime refused, before any stream began."""
    match fault.code:
        case "NotFound":
            return wire.text(404, str(fault))
        case "ResourceExhausted":
            return Answer(code=429, body=str(fault).encode(), headers=(("Retry-After", RETRY_AFTER_S),))
        case _:
            return wire.text(500, str(fault))
