"""A flexlet in a process of its own, as users start it, for tests that come over HTTPS.

Whatever the tests did to it, at the end it must stop on request, with code 0 and without a traceback in its log.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

STOP_S = 20


class Running(NamedTuple):
    """A flexlet that clients can reach."""

    url: str
    kubeconfig: Path
    data: Path
    log: Path
    pid: int = 0

    def tracebacks(self) -> list[str]:
        """The lines of the log that no request may ever cause."""
        return [line for line in self.log.read_text().splitlines() if line.startswith("Traceback")]


@contextmanager
def flexlet(directory: Path, *command: str) -> Iterator[Running]:
    """Run ``flexlet COMMAND`` (``server``, ``up --node hollow=3``) on a free port, its data in `directory`."""
    data, kubeconfig, log = directory / "data", directory / "kubeconfig", directory / "log"
    arguments = [*command, "--data", str(data), "--listen", "127.0.0.1:0", "--write-kubeconfig", str(kubeconfig)]
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "flexlet", *arguments], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert " at https://" in line, f"flexlet {command[0]} did not start: {log.read_text()}"
            url = line.partition(" at ")[2].split()[0].rstrip(";")
            running = Running(url, kubeconfig, data, log, process.pid)
            yield running
            assert process.poll() is None, f"flexlet {command[0]} ended by itself: {log.read_text()}"
        finally:
            process.terminate()
            code = process.wait(STOP_S)
    assert (code, running.tracebacks()) == (0, []), log.read_text()
