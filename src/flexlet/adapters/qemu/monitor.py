"""A QMP monitor: commands and events, with the library's exceptions translated.

Connects when it is first needed and again after the connection broke. A command whose answer did not come is
HypervisorGone: it may have been carried out. QEMU serves one client per monitor; another one is kept waiting.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

from qemu.qmp import ExecuteError, QMPClient, QMPError, Runstate
from qemu.qmp.events import EventListener

from flexlet.adapters import unixsocket
from flexlet.core.lab import events
from flexlet.core.lab.events import Event
from flexlet.errors import HypervisorError, HypervisorGone

ANSWER_S: Final = 30.0
# The library reports to its log what it also raises.
logging.getLogger("qemu.qmp").addHandler(logging.NullHandler())
logging.getLogger("qemu.qmp").propagate = False


class Refusal(HypervisorError):
    """QEMU has understood the command and says no."""

    def __init__(self, command: str, kind: str, description: str) -> None:
        super().__init__(f"QEMU refuses {command}: {description}")
        self.kind = kind
        self.description = description


class Monitor:
    """One monitor of one machine."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._client: QMPClient | None = None
        self._connecting = asyncio.Lock()

    async def execute(self, command: str, arguments: dict[str, Any] | None = None) -> object:
        """Run a command and return its answer; Refusal, or HypervisorGone when the outcome is unknown."""
        client = await self._connected()
        try:
            async with asyncio.timeout(ANSWER_S):
                return await client.execute(command, arguments)
        except ExecuteError as error:
            raise Refusal(command, error.error_class, str(error)) from error
        except TimeoutError as error:
            await self.close()
            raise HypervisorGone(f"no answer to {command} within {ANSWER_S:g} s: query before retrying") from error
        except (QMPError, OSError, EOFError) as error:
            await self.close()
            raise HypervisorGone(f"the connection broke during {command}: query before retrying") from error

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[AsyncIterator[Event]]:
        """All events from now on; they end when the connection does."""
        client = await self._connected()
        with client.listener() as listener:
            yield _heard(client, listener)

    async def close(self) -> None:
        """Hang up."""
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(QMPError, OSError, EOFError):
                await client.disconnect()

    async def _connected(self) -> QMPClient:
        async with self._connecting:
            if self._client is not None and self._client.runstate == Runstate.RUNNING:
                return self._client
            await self.close()
            client = QMPClient()
            with self._complaints():
                async with asyncio.timeout(ANSWER_S):
                    await client.connect(unixsocket.connected(self._path))
            self._client = client
            return client

    @contextlib.contextmanager
    def _complaints(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            raise HypervisorError(
                f"{self._path} does not greet within {ANSWER_S:g} s: the machine hangs, or somebody else holds it"
            ) from error
        except (QMPError, OSError, EOFError) as error:
            raise HypervisorGone(f"cannot reach the machine through {self._path}: {error}") from error


async def _heard(client: QMPClient, listener: EventListener) -> AsyncIterator[Event]:
    """Events until the connection ends; the library itself would let a listener wait for ever."""
    while True:
        message = asyncio.ensure_future(listener.get())
        change = asyncio.ensure_future(client.runstate_changed())
        try:
            if client.runstate == Runstate.RUNNING:
                await asyncio.wait((message, change), return_when=asyncio.FIRST_COMPLETED)
            elif not listener.empty():
                await message
            if not message.done():
                return
            yield events.parse(message.result())
        finally:
            for task in (message, change):
                task.cancel()
            await asyncio.gather(message, change, return_exceptions=True)
