"""Processes of ``flexlet`` that can be started by the hundred, limited, and killed at any moment."""

import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

FORKS = Path(__file__).with_name("forks.py")
ANSWER_S = 60


class Ended(NamedTuple):
    """A process that has ended by itself."""

    code: int
    output: str
    errors: str


class Process:
    """One run of ``flexlet``."""

    def __init__(self, pid: int, output: int, errors: Path, reap: Callable[[], int]) -> None:
        self._pid, self._output, self._errors, self._reap = pid, output, errors, reap
        self._said = b""
        self._code: int | None = None

    def url(self) -> str | Ended:
        """Where it serves, as soon as it does; or how it ended instead."""
        while b"\n" not in self._said and self._read():
            pass
        if b" at https://" in self._said:
            return self._said.decode().partition(" at ")[2].split()[0].rstrip(";")
        return self.end()

    def end(self) -> Ended:
        """Wait until it has ended."""
        while self._read():
            pass
        return Ended(self.reap(), self._said.decode(), self._errors.read_text())

    def limit(self, size: int) -> None:
        """Let no file of it get bigger from now on, as if the disk was full."""
        resource.prlimit(self._pid, resource.RLIMIT_FSIZE, (size, size))

    def signal(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal, unless it has ended."""
        if self._code is None:
            os.kill(self._pid, number)

    def reap(self) -> int:
        """Wait for its exit code."""
        if self._code is None:
            self._code = self._reap()
            os.close(self._output)
        return self._code

    def _read(self) -> bytes:
        assert select.select([self._output], [], [], ANSWER_S)[0], "flexlet neither serves nor ends"
        data = os.read(self._output, 1 << 16)
        self._said += data
        return data


class Launcher:
    """Starts processes by forking them from one that has everything imported, or anew as a shell would."""

    def __init__(self, channel: socket.socket, directory: Path) -> None:
        self._channel = channel
        self._errors = directory / "stderr"

    @contextmanager
    def run(self, *arguments: str, file_limit: int | None = None, fresh: bool = False) -> Iterator[Process]:
        """A process which is gone afterwards; `file_limit` is as big as a file of it may get."""
        output, theirs = os.pipe()
        with self._errors.open("wb") as errors:
            start = self._exec if fresh else self._fork
            pid, reap = start(arguments, (theirs, errors.fileno()), file_limit)
        os.close(theirs)
        process = Process(pid, output, self._errors, reap)
        try:
            yield process
        finally:
            process.signal()
            process.reap()

    def finish(self, *arguments: str) -> Ended:
        """Run a command to its end."""
        with self.run(*arguments) as process:
            return process.end()

    def _fork(
        self, arguments: tuple[str, ...], descriptors: tuple[int, int], file_limit: int | None
    ) -> tuple[int, Callable[[], int]]:
        pid = self._ask({"arguments": arguments, "file_limit": file_limit}, descriptors)
        return pid, lambda: self._ask({"wait": pid})

    def _exec(
        self, arguments: tuple[str, ...], descriptors: tuple[int, int], file_limit: int | None
    ) -> tuple[int, Callable[[], int]]:
        assert file_limit is None
        command = [sys.executable, "-m", "flexlet", *arguments]
        process = subprocess.Popen(command, stdout=descriptors[0], stderr=descriptors[1])
        return process.pid, process.wait

    def _ask(self, request: dict[str, object], descriptors: tuple[int, ...] = ()) -> int:
        socket.send_fds(self._channel, [json.dumps(request).encode()], descriptors)
        return int(json.loads(self._channel.recv(1 << 16)))


@contextmanager
def launcher(directory: Path) -> Iterator[Launcher]:
    """What starts processes, until the end of the block."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(ANSWER_S)
    with (
        ours,
        subprocess.Popen([sys.executable, FORKS, str(theirs.fileno())], pass_fds=[theirs.fileno()]) as forks,
    ):
        theirs.close()
        yield Launcher(ours, directory)
        ours.close()
        assert forks.wait(ANSWER_S) == 0
