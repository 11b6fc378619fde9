"""Launchers as processes of this host, for tests and benches; what they have started ends with them."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from flexlet.adapters.launcher import process
from flexlet.adapters.launcher.rundir import RunDir
from flexlet.adapters.vmlink.socket import SocketLink
from flexlet.core.vm.guest import Machine, Order, Report
from flexlet.errors import HypervisorGone

PATIENCE_S: Final = 120.0


class Launched:
    """A launcher, its last report, and all that its guest has written, with when that came."""

    def __init__(self, run: RunDir, child: asyncio.subprocess.Process, link: SocketLink) -> None:
        self.run = run
        self.child = child
        self.report = Report(run_state="Starting")
        self.console = ""
        self.pieces: list[tuple[float, str]] = []
        self._link = link
        self._news = asyncio.Event()

    async def order(self, order: Order) -> None:
        """Tell it what shall be."""
        await self._link.order(order)

    async def type(self, text: str) -> None:
        """Type a line at the guest's console."""
        reader, writer = await asyncio.open_unix_connection(self.run.console)
        writer.write(f"{text}\n".encode())
        writer.write_eof()
        # Hanging up on what was not read would be an error at the other end, and the line might be lost.
        await reader.read()
        writer.close()

    async def until(self, condition: Callable[[Report], Any], patience_s: float = PATIENCE_S) -> Report:
        """Its first report from now on for which this holds."""
        await self._wait(lambda: condition(self.report), patience_s)
        return self.report

    async def says(self, text: str, after: int = 0, patience_s: float = PATIENCE_S) -> None:
        """Wait until the guest has written this."""
        await self._wait(lambda: text in self.console[after:], patience_s)

    async def settled(self, order: str) -> Report:
        """Wait until an order was carried out, as far as it goes."""
        return await self.until(
            lambda report: report.order == order and "Changing" not in {report.cpu.progress, report.ram.progress}
        )

    async def ended(self) -> int:
        """Its exit code."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.child.wait()

    async def follow(self) -> None:
        """Learn what it reports."""
        with contextlib.suppress(HypervisorGone):
            async for report in self._link.reports():
                self.report = report
                self._tell()

    async def listen(self) -> None:
        """Learn what the guest writes."""
        reader, loop = self.child.stdout, asyncio.get_running_loop()
        while reader is not None and (data := await reader.read(65536)):
            self.pieces.append((loop.time(), data.decode(errors="replace")))
            self.console += self.pieces[-1][1]
            self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def _wait(self, condition: Callable[[], Any], patience_s: float) -> None:
        try:
            async with asyncio.timeout(patience_s):
                while not condition():
                    await self._news.wait()
        except TimeoutError as error:
            raise AssertionError(
                f"not in time: {self.report}; the guest said last: {self.console[-300:]}"
            ) from error


@contextlib.asynccontextmanager
async def launched(folder: Path, machine: Machine) -> AsyncIterator[Launched]:
    """``flexlet vm-launcher run`` for this machine, until the block ends."""
    run = RunDir(folder / machine.name)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "flexlet", "vm-launcher", "run", "--run-dir", str(run.path)),
        env={**os.environ, "FLEXLET_VM_MACHINE": msgspec.json.encode(machine).decode()},
        stdout=asyncio.subprocess.PIPE,
    )
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(_end, run, child)
        it = Launched(run, child, await _connected(run, stack))
        for loop in (it.follow(), it.listen()):
            stack.callback(asyncio.create_task(loop).cancel)
        yield it


async def _connected(run: RunDir, stack: contextlib.AsyncExitStack) -> SocketLink:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with contextlib.suppress(HypervisorGone):
                return await stack.enter_async_context(SocketLink(run.control))
            await asyncio.sleep(0.05)


async def _end(run: RunDir, child: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        child.kill()
    await child.wait()
    left = process.find(run)
    if left is not None:
        left[0].kill()
