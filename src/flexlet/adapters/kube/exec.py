"""Commands in containers of any cluster: ``pods/exec`` over a WebSocket, v5 with v4 to fall back on.

The rule of `client` holds here too: no aiohttp exception leaves this file. What the server refuses is an ApiError
with its own Status; a stream that breaks off, or a server that cannot be reached, is one with code 503.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Final, Self

import aiohttp
from aiohttp import WSMsgType

from flexlet.adapters.kube import execstatus, kubeconfig, requests
from flexlet.adapters.kube.session import connected
from flexlet.api import status
from flexlet.ports.cluster import PODS

BEAT_S: Final = 20.0
"""How often a silent line is tried; nobody at the other end for half of it means that it is broken."""
_CLOSE_S: Final = 1.0
"""How long the other end may take to hang up."""
_LOOKS: Final = 100
_END: Final = frozenset({WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR})


class Exec:
    """Starts commands in containers, with the credentials of a kubeconfig; use it inside ``async with``."""

    def __init__(self, credentials: kubeconfig.Credentials, user_agent: str = "flexlet") -> None:
        self._credentials = credentials
        self._user_agent = user_agent
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = connected(self._credentials, self._user_agent, [_refused])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    @contextlib.asynccontextmanager
    async def start(
        self, namespace: str, pod: str, container: str, command: Sequence[str], *, tty: bool = False
    ) -> AsyncIterator["Process"]:
        """Run a command for as long as the block lasts; leaving earlier hangs up, which ends its input.

        Raises:
            ApiError: the server refuses it, or cannot be reached.
        """
        what = f"exec of `{' '.join(command)}` in {namespace}/{pod}"
        line = await self._connect(what, namespace, pod, _query(container, command, tty=tty))
        connection = line.get_extra_info("socket")
        try:
            async with line:
                yield Process(line, what)
        finally:
            await _closed(connection)

    async def _connect(
        self, what: str, namespace: str, pod: str, query: list[tuple[str, str]]
    ) -> aiohttp.ClientWebSocketResponse:
        if self._session is None:
            raise RuntimeError("use the client inside `async with`")
        try:
            return await self._session.ws_connect(
                self._credentials.server + requests.path(PODS, namespace, pod, "exec"),
                params=query,
                protocols=execstatus.PROTOCOLS,
                server_hostname=self._credentials.server_name or None,
                heartbeat=BEAT_S,
                max_msg_size=0,
                timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_S),
            )
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _broken(what, error) from error


class Process:
    """A command that runs."""

    def __init__(self, line: aiohttp.ClientWebSocketResponse, what: str) -> None:
        self._socket = line
        self._what = what
        self._ended: bytes | None = None

    async def write(self, data: bytes) -> None:
        """Give it input."""
        await self._send(execstatus.frame(execstatus.STDIN, data))

    async def end_input(self) -> None:
        """Let its input end; v4 cannot say that, so that there only hanging up does it."""
        if self._socket.protocol == execstatus.V5:
            await self._send(execstatus.frame(execstatus.CLOSE, bytes([execstatus.STDIN])))

    async def output(self) -> AsyncIterator[tuple[int, bytes]]:
        """What it says, with the channel (STDOUT, STDERR), until it has ended.

        Raises:
            ApiError: the stream broke off before anybody told how the command ended.
        """
        while (message := await self._receive()).type not in _END:
            channel, data = execstatus.split(_bytes(message))
            if channel == execstatus.STATUS:
                self._ended = (self._ended or b"") + data
            elif data and channel in {execstatus.STDOUT, execstatus.STDERR}:
                yield channel, data
        if self._ended is None:
            raise _broken(self._what, self._socket.exception() or f"closed with code {self._socket.close_code}")

    def exit_code(self) -> int:
        """With which code it ended, once `output` is over; ApiError if it could not run."""
        if self._ended is None:
            raise RuntimeError(f"{self._what} has not ended")
        return execstatus.exit_code(self._ended)

    async def _receive(self) -> aiohttp.WSMessage:
        try:
            return await self._socket.receive()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _broken(self._what, error) from error

    async def _send(self, data: bytes) -> None:
        try:
            await self._socket.send_bytes(data)
        except (aiohttp.ClientError, OSError) as error:
            raise _broken(self._what, error) from error


async def _closed(connection: socket.socket | None) -> None:
    """Wait until a connection is gone, so that nothing is left behind when a loop ends with it."""
    for _ in range(_LOOKS):
        if connection is None or connection.fileno() == -1:
            return
        await asyncio.sleep(_CLOSE_S / _LOOKS)


def _query(container: str, command: Sequence[str], *, tty: bool) -> list[tuple[str, str]]:
    streams = [("stdin", "true"), ("stdout", "true"), ("tty", "true") if tty else ("stderr", "true")]
    return [("container", container), *streams, *(("command", word) for word in command)]


def _bytes(message: aiohttp.WSMessage) -> bytes:
    data: bytes | str | None = message.data
    return data.encode() if isinstance(data, str) else data or b""


async def _refused(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Read why the server does not upgrade; aiohttp alone would forget it."""
    response = await send(request)
    if response.status < 400:
        return response
    body = await response.read()
    response.close()
    raise status.error_of(status.decode(body, response.status))


def _broken(what: str, error: BaseException | str) -> status.ApiError:
    why = str(error) or type(error).__name__
    return status.failure(503, "ServiceUnavailable", f"{what} broke off: {why}")
