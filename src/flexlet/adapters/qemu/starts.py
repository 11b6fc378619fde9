"""How many CPUs an emulating QEMU has started, so that it is never asked for one too many.

TCG gives each CPU's thread a context and takes none back when the CPU is unplugged; the start of one more CPU
than ``maxcpus`` aborts QEMU, and the guest with it. So machines that are emulated have far more slots than they
may use, each start is counted, and the one that would be fatal is refused. The count is the length of a file, a
byte for each start: processes that count at the same time cannot lose one.
"""

import os
from pathlib import Path

from flexlet.core.lab.arguments import EMULATED_STARTS, Accelerator
from flexlet.errors import HypervisorError


class CpuStarts:
    """The starts of one run of one machine; no file means no limit."""

    def __init__(self, path: Path, most: int = EMULATED_STARTS) -> None:
        self._path = path
        self._most = most

    def begin(self, cpus: int, accelerator: Accelerator) -> None:
        """A machine starts with that many CPUs."""
        self._path.unlink(missing_ok=True)
        if accelerator == "tcg":
            self._path.write_bytes(b"." * cpus)

    def claim(self) -> None:
        """Count a start that is about to happen, or HypervisorError."""
        if not self._path.exists():
            return
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            os.write(descriptor, b".")
            if os.fstat(descriptor).st_size > self._most:
                raise HypervisorError(
                    f"QEMU's emulator has started {self._most} CPUs since the machine was switched on, and"
                    " cannot start more: stop the machine and start it again"
                )
        finally:
            os.close(descriptor)
