"""A launcher around the pretended QEMU, in this process or in one of its own."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec

from flexlet.adapters.launcher.rundir import RunDir
from flexlet.adapters.qemu.binary import Qemu
from flexlet.adapters.vmlink.socket import SocketLink
from flexlet.api.units import GIB, MIB
from flexlet.apps import vmlauncher
from flexlet.core.vm.guest import Machine, Report
from flexlet.errors import HypervisorGone

ROOT = Path(__file__).parents[3]
SMALL = Machine(
    name="db",
    sockets=1,
    max_sockets=4,
    min_memory=512 * MIB,
    memory=512 * MIB,
    max_memory=2 * GIB,
    kernel="/k/vmlinuz",
    grace_s=2.0,
)
PATIENCE_S = 20.0
_PROGRAM = """#!/bin/sh
case "$*" in
*--version*) echo "QEMU emulator version 10.0.2"; exit ;;
*isa-debug-exit*) exit 1 ;;
esac
PYTHONPATH={root} exec {python} -S -m tests.adapters.launcher.fakeqemu "$@"
"""


def fake_qemu(folder: Path) -> Qemu:
    """A program that is a QEMU to whoever starts it."""
    script = folder / "qemu-system-x86_64"
    script.write_text(_PROGRAM.format(root=ROOT, python=sys.executable))
    script.chmod(0o755)
    (folder / "qemu-img").symlink_to("/bin/true")
    return Qemu(script, folder / "qemu-img", "10.0.2")


def guest(machine: Machine = SMALL, **manners: str) -> Machine:
    """A machine whose guest has these manners (see `fakeqemu`)."""
    return msgspec.structs.replace(
        machine, kernel_args=" ".join(f"{key}={value}" for key, value in manners.items())
    )


class Line:
    """A line to a launcher, and the last report that came through it."""

    def __init__(self, link: SocketLink) -> None:
        self.link = link
        self.heard: list[Report] = []

    async def until(self, condition: Callable[[Report], Any]) -> Report:
        """The first report from now on for which this holds."""
        async with asyncio.timeout(PATIENCE_S):
            async for report in self.link.reports():
                self.heard.append(report)
                if condition(report):
                    return report
        raise AssertionError(f"the launcher ended with {self.heard[-1]}")

    async def settled(self, order: str) -> Report:
        """Wait until an order is carried out, as far as it goes."""
        return await self.until(
            lambda report: report.order == order and "Changing" not in {report.cpu.progress, report.ram.progress}
        )


@contextlib.asynccontextmanager
async def line(run: RunDir) -> AsyncIterator[Line]:
    """A line to the launcher with this directory, as soon as somebody answers there."""
    async with contextlib.AsyncExitStack() as stack:
        yield Line(await _connected(run, stack))


async def _connected(run: RunDir, stack: contextlib.AsyncExitStack) -> SocketLink:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with contextlib.suppress(HypervisorGone):
                return await stack.enter_async_context(SocketLink(run.control))
            await asyncio.sleep(0.01)


class Staged:
    """A launcher that runs in this process."""

    def __init__(self, run: RunDir, line: Line, task: asyncio.Task[int], said: list[str]) -> None:
        self.run = run
        self.line = line
        self.task = task
        self.said = said

    async def type(self, word: str) -> None:
        """Say a word at the guest's console."""
        reader, writer = await asyncio.open_unix_connection(self.run.console)
        writer.write(f"{word}\n".encode())
        async with asyncio.timeout(PATIENCE_S):
            await reader.readuntil(f"heard {word}\n".encode())
        writer.close()

    async def exit_code(self) -> int:
        """Wait for its end."""
        async with asyncio.timeout(PATIENCE_S):
            return await asyncio.shield(self.task)


@contextlib.asynccontextmanager
async def launched(folder: Path, machine: Machine, name: str = "run") -> AsyncIterator[Staged]:
    """A launcher with a machine; whatever is left of it at the end is ended."""
    tools = folder / f"tools-{name}"
    tools.mkdir()
    run, said = RunDir(folder / name), list[str]()
    task = asyncio.create_task(vmlauncher.run(machine, run, said.append, fake_qemu(tools)))
    try:
        async with line(run) as connected:
            yield Staged(run, connected, task, said)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def stillborn(folder: Path, machine: Machine) -> tuple[int, list[str]]:
    """The exit code and the words of a launcher that may be gone before anybody can call it."""
    tools = folder / "tools"
    tools.mkdir()
    said: list[str] = []
    async with asyncio.timeout(PATIENCE_S):
        return await vmlauncher.run(machine, RunDir(folder / "run"), said.append, fake_qemu(tools)), said


async def process(run: RunDir, machine: Machine, tools: Path) -> asyncio.subprocess.Process:
    """A launcher in a process of its own, as in a pod."""
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "FLEXLET_VM_MACHINE": msgspec.json.encode(machine).decode(),
    }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "flexlet", "vm-launcher", "run", "--run-dir", str(run.path)),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
