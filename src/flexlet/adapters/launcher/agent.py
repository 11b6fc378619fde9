"""The agent in the guest (QEMU's guest agent): which vCPUs does Linux use, and please use these too.

One connection for each question, each begun with ``guest-sync``: what an earlier question left in the channel is
read away. There may be no agent, one that is not up yet, or one that hangs: all of them are None after a while.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from flexlet.adapters import unixsocket

PATIENCE_S: Final = 5.0
_NUMBERS: Final = itertools.count(1)


class Vcpu(msgspec.Struct, frozen=True, rename="kebab"):
    """A vCPU as the guest numbers it."""

    logical_id: int
    online: bool
    can_offline: bool = True


class _Channel:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def sync(self) -> None:
        """Read away whatever is not the answer to our number."""
        number = next(_NUMBERS)
        self._send("guest-sync", {"id": number})
        while await self._answer() != number:
            pass

    async def ask(self, command: str, arguments: dict[str, Any] | None = None) -> Any:
        self._send(command, arguments)
        return await self._answer()

    def _send(self, command: str, arguments: dict[str, Any] | None) -> None:
        message = {"execute": command, **({"arguments": arguments} if arguments else {})}
        self._writer.write(msgspec.json.encode(message) + b"\n")

    async def _answer(self) -> Any:
        line = await self._reader.readline()
        if not line:
            raise EOFError
        return msgspec.json.decode(line).get("return")


class Agent:
    """The agent at the other end of a socket; `is_there` says whether anybody in the guest holds that open."""

    def __init__(
        self, path: Path, is_there: Callable[[], Awaitable[bool]], patience_s: float = PATIENCE_S
    ) -> None:
        self._path = path
        self._is_there = is_there
        self._patience_s = patience_s
        self._turn = asyncio.Lock()

    async def vcpus(self) -> tuple[Vcpu, ...] | None:
        """The vCPUs that the guest knows; None if nobody answers."""
        answer = await self._asked("guest-get-vcpus")
        with contextlib.suppress(msgspec.ValidationError):
            return msgspec.convert(answer, tuple[Vcpu, ...])
        return None

    async def bring_online(self, numbers: Iterable[int]) -> int:
        """How many of these the guest has taken into use."""
        wanted = [{"logical-id": number, "online": True} for number in numbers]
        answer = await self._asked("guest-set-vcpus", {"vcpus": wanted})
        return answer if isinstance(answer, int) else 0

    async def _asked(self, command: str, arguments: dict[str, Any] | None = None) -> Any:
        if not await self._is_there():
            return None
        try:
            async with self._turn, asyncio.timeout(self._patience_s), self._connected() as channel:
                await channel.sync()
                return await channel.ask(command, arguments)
        except (OSError, EOFError, ValueError, msgspec.DecodeError, AttributeError):
            return None

    @contextlib.asynccontextmanager
    async def _connected(self) -> AsyncIterator[_Channel]:
        reader, writer = await asyncio.open_unix_connection(sock=unixsocket.connected(self._path))
        try:
            yield _Channel(reader, writer)
        finally:
            writer.close()
