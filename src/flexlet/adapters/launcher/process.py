"""QEMU as a process: started with its sockets, or found again after the launcher itself was killed.

QEMU is a child in a session of its own. It does not end with us: a launcher that comes after finds it by the
pidfile on its command line, holds the same sockets, and only never learns its exit code.
"""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from typing import Final

from flexlet.adapters import unixsocket
from flexlet.adapters.launcher.rundir import RunDir
from flexlet.adapters.qemu import processes
from flexlet.adapters.qemu.binary import Qemu
from flexlet.core.lab.arguments import Accelerator
from flexlet.core.vm.bootline import Channels, boot_line
from flexlet.core.vm.guest import Machine

_TAIL: Final = 2000
_FOREVER: Final = 365 * 24 * 3600.0


class Running:
    """A QEMU that runs or has just ended."""

    def __init__(self, run: RunDir, pid: int, child: asyncio.subprocess.Process | None) -> None:
        self.pid = pid
        self._run = run
        self._child = child

    @property
    def is_ours(self) -> bool:
        """Whether it is our child."""
        return self._child is not None

    async def ended(self) -> int | None:
        """Wait for its end; its exit code if it was our child (minus the signal's number), else None."""
        if self._child is not None:
            return await self._child.wait()
        found = processes.find(self._run.pidfile)
        if found is not None:
            with found:
                await found.ended(_FOREVER)
        return None

    def kill(self) -> None:
        """End it at once, if it still is the one we know."""
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                self._child.kill()
            return
        found = processes.find(self._run.pidfile)
        if found is not None:
            with found:
                found.kill()

    def last_words(self) -> str:
        """The end of what QEMU itself has said."""
        try:
            return self._run.log.read_bytes()[-_TAIL:].decode(errors="replace").strip()
        except OSError:
            return ""


def find(run: RunDir) -> tuple[Running, Accelerator] | None:
    """The QEMU that runs with this directory already, and on what."""
    seen = processes.running([run.pidfile]).get(run.pidfile)
    if seen is None:
        return None
    return Running(run, seen.pid, None), "kvm" if seen.accelerator == "kvm" else "tcg"


async def start(qemu: Qemu, machine: Machine, accelerator: Accelerator, run: RunDir) -> Running:
    """Start QEMU; it may still fail when it reads its command line."""
    with _channels(run) as channels, run.log.open("wb") as log:
        child = await asyncio.create_subprocess_exec(
            qemu.system,
            *boot_line(machine, accelerator, channels, str(run.pidfile)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=channels.all,
            start_new_session=True,
            # What a guest writes to a disk that forgets goes beside the sockets, not into the image's /var/tmp.
            env={"TMPDIR": str(run.path), **os.environ},
            umask=0o077,
        )
    return Running(run, child.pid, child)


def clear(run: RunDir) -> None:
    """Remove what belongs to a machine that has ended."""
    for path in (*run.monitors, run.agent, run.serial, run.pidfile, run.starts):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _channels(run: RunDir) -> Iterator[Channels]:
    with contextlib.ExitStack() as stack:
        bound = [
            stack.enter_context(unixsocket.listening(path)).fileno()
            for path in (*run.monitors, run.agent, run.serial)
        ]
        yield Channels((bound[0], bound[1]), bound[2], bound[3])
