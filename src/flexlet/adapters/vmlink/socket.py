"""A launcher on this host, through its control socket."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Self

from flexlet.adapters import unixsocket
from flexlet.core.vm import control
from flexlet.core.vm.guest import Order, Report
from flexlet.errors import HypervisorGone
from flexlet.ports.vmguest import GuestLink


class SocketLink:
    """One launcher; connects when it is entered."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Self:
        try:
            ends = await asyncio.open_unix_connection(
                sock=unixsocket.connected(self._path), limit=control.LINE_LIMIT
            )
        except OSError as error:
            raise HypervisorGone(f"no launcher answers at {self._path}: {error}") from error
        self._reader, self._writer = ends
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()

    async def order(self, order: Order) -> None:
        """Tell it what shall be."""
        if self._writer is None:
            raise HypervisorGone(f"the line to {self._path} is not open")
        try:
            self._writer.write(control.line(order))
            await self._writer.drain()
        except OSError as error:
            raise HypervisorGone(f"the line to {self._path} broke: {error}") from error

    async def reports(self) -> AsyncIterator[Report]:
        """The machine as it is, and again whenever that changes."""
        if self._reader is None:
            raise HypervisorGone(f"the line to {self._path} is not open")
        report = None
        while line := await self._line(self._reader):
            report = control.report(line)
            yield report
        if report is None or report.run_state != "Ended":
            raise HypervisorGone(f"the launcher at {self._path} hung up")

    async def _line(self, reader: asyncio.StreamReader) -> bytes:
        try:
            return await reader.readline()
        except (OSError, ValueError) as error:
            raise HypervisorGone(f"the line to {self._path} broke: {error}") from error


class SocketLinks:
    """Launchers on this host, by where their control sockets are."""

    def __init__(self, where: Callable[[str, str], Path]) -> None:
        self._where = where

    @contextlib.asynccontextmanager
    async def open(self, namespace: str, pod: str) -> AsyncIterator[GuestLink]:
        """A line to the launcher of this pod."""
        async with SocketLink(self._where(namespace, pod)) as link:
            yield link
