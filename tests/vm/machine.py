"""A booted machine for tests: made once, shared by all of a run, ended with the process that runs them.

Its owner is an event loop in a thread of its own, so that each test can have a loop of its own and talk to the
machine over its own connections.
"""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from flexlet.adapters.guest.client import Guest
from flexlet.adapters.qemu import machine as machines
from flexlet.adapters.qemu.directory import MachineDirectory
from flexlet.adapters.qemu.hypervisor import QemuHypervisor
from flexlet.apps import lab
from flexlet.core.lab.spec import MachineSpec

Result = TypeVar("Result")
LOGS: Final = {
    "kernel": ["dmesg"],
    "agent": ["cat", "/var/log/agent.log"],
    "containerd": ["cat", "/var/log/containerd.log"],
    "guest": ["cat", "/var/log/guest.log"],
}
_LINES, _COLUMNS = 25, 200


class Vm:
    """What tests know of the machine."""

    def __init__(self, data: Path, directory: MachineDirectory) -> None:
        self.data = data
        self.name = directory.name
        self.directory = directory

    def hypervisor(self) -> QemuHypervisor:
        """Its hypervisor, over the monitor for commands of a moment."""
        return machines.hypervisor(self.directory, monitor=1)

    def guest(self) -> Guest:
        """A client of its guest."""
        return Guest(self.directory.ports)

    def logs(self) -> dict[str, str]:
        """The ends of all logs, for a failed test."""
        console = self.directory.file("console.log").read_text(errors="replace")
        return {"console": _end(console), **asyncio.run(self._guest_logs())}

    async def _guest_logs(self) -> dict[str, str]:
        found = {}
        async with self.guest() as guest:
            for name, command in LOGS.items():
                done = await guest.run(command)
                found[name] = _end((done.stdout + done.stderr).decode(errors="replace"))
        return found


def _end(text: str) -> str:
    return "\n".join(line[:_COLUMNS] for line in text.splitlines()[-_LINES:])


@contextlib.contextmanager
def booted(data: Path, spec: MachineSpec) -> Iterator[Vm]:
    """A machine in `data`, up, until the block ends."""
    with _looping() as loop:
        context = lab.running(spec, {"node.env": f"NODE_NAME={spec.name}\n".encode()}, {}, print, data=data)
        machine = _run(loop, context.__aenter__())
        try:
            yield Vm(data, machine.directory)
        finally:
            _run(loop, context.__aexit__(None, None, None))


@contextlib.contextmanager
def _looping() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _run(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Result]) -> Result:
    return asyncio.run_coroutine_threadsafe(work, loop).result()
