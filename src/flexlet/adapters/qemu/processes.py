"""Which QEMU runs which machine, and how it ends.

The truth is the process table, not a file: each QEMU of ours has ``-pidfile DIRECTORY/pid`` on its command
line, and that path belongs to one machine. So a number that the kernel has given to somebody else cannot be
mistaken for a machine, and a machine whose starter was killed before it could write anything down is found all
the same. Signals go through a pidfd that was checked after it was opened: they reach that process or none.
"""

import asyncio
import contextlib
import itertools
import os
import signal
from pathlib import Path
from typing import Final, Self

import msgspec

_PROC: Final = Path("/proc")
_PIDFILE: Final = b"-pidfile"
_ACCELERATOR: Final = b"-accel"


class Seen(msgspec.Struct, frozen=True):
    """A machine that runs: its process, and what its CPUs run on."""

    pid: int
    accelerator: str


class Process:
    """A process that was found; close it when done."""

    def __init__(self, pid: int, pidfd: int) -> None:
        self.pid = pid
        self._pidfd = pidfd

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    async def ended(self, patience_s: float) -> bool:
        """Whether it ends within that time."""
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        loop.add_reader(self._pidfd, over.set)
        try:
            async with asyncio.timeout(patience_s):
                await over.wait()
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(self._pidfd)
        return True

    def close(self) -> None:
        """Let go of it."""
        os.close(self._pidfd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def find(pidfile: Path) -> Process | None:
    """The running QEMU of the machine with that pidfile."""
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and _is_ours(int(entry.name), pidfile):
            process = _open(int(entry.name))
            if process and _is_ours(process.pid, pidfile):
                return process
            if process:
                process.close()
    return None


def running(pidfiles: list[Path]) -> dict[Path, Seen]:
    """Which of the machines run, by one look at the process table."""
    wanted = {os.fsencode(path): path for path in pidfiles}
    found = {}
    for entry in _PROC.iterdir():
        words = _words(int(entry.name)) if entry.name.isdigit() else []
        for pidfile in _values(words, _PIDFILE):
            if pidfile in wanted:
                accelerator = b"".join(_values(words, _ACCELERATOR)).decode().partition(",")[0]
                found[wanted[pidfile]] = Seen(int(entry.name), accelerator)
    return found


def _open(pid: int) -> Process | None:
    with contextlib.suppress(ProcessLookupError):
        return Process(pid, os.pidfd_open(pid))
    return None


def _is_ours(pid: int, pidfile: Path) -> bool:
    return os.fsencode(pidfile) in _values(_words(pid), _PIDFILE)


def _values(words: list[bytes], option: bytes) -> list[bytes]:
    return [value for word, value in itertools.pairwise(words) if word == option]


def _words(pid: int) -> list[bytes]:
    """A process's command line; empty for one that has ended, and for zombies."""
    with contextlib.suppress(OSError):
        return (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    return []
