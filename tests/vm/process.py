"""``flexlet up`` as a user runs it: a process that says when it is ready, stops on Ctrl-C, or is killed."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

STOP_S: Final = 180.0


class Up:
    """A run of ``flexlet up --data DIR`` with its node in a machine; the data may outlive it."""

    def __init__(self, data: Path, *options: str) -> None:
        data.mkdir(parents=True, exist_ok=True)
        self.kubeconfig = data / "kubeconfig"
        self._log = data / "up.log"
        with self._log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "flexlet", "up", "--data", str(data), *options],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )

    def ready(self) -> None:
        """Wait until it says that it is up."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("flexlet is up at https://"), f"it says {line!r}: {self.said()}"

    def said(self) -> str:
        """What this run and those before it on the same data told their user besides."""
        return self._log.read_text(errors="replace")

    def interrupt(self) -> int:
        """Press Ctrl-C, which reaches all that it has started, and wait for the end; the exit code."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGINT)
        return self._process.wait(STOP_S)

    def end(self, number: signal.Signals) -> int:
        """Send a signal to it alone and wait for the end; the exit code."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        code = self._process.wait(STOP_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return code
