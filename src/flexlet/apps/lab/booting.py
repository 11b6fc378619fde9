"""Waiting for a guest: its console says when its container runtime answers."""

import contextlib
import time
from pathlib import Path
from typing import Final

from flexlet.adapters.qemu import processes
from flexlet.adapters.qemu.directory import MachineDirectory
from flexlet.errors import HypervisorError

READY: Final = b"flexlet-guest: ready"
BOOT_S: Final = 300.0
_LOOK_S: Final = 0.2
_LINES: Final = 15


async def ready(machine: MachineDirectory, patience_s: float = BOOT_S) -> float:
    """How long it took; HypervisorError with the end of the console if the machine ends or takes too long."""
    console = machine.file("console.log")
    begin = time.monotonic()
    process = processes.find(machine.file("pid"))
    with process or contextlib.nullcontext():
        while not _says_ready(console):
            if process is None or await process.ended(_LOOK_S):
                raise HypervisorError(f"machine {machine.name} has ended while it booted:\n{_end(console)}")
            if time.monotonic() - begin > patience_s:
                complaint = f"machine {machine.name} has not booted within {patience_s:g} s"
                raise HypervisorError(f"{complaint}; its console ends:\n{_end(console)}")
    return time.monotonic() - begin


def _says_ready(console: Path) -> bool:
    return console.exists() and READY in console.read_bytes()


def _end(console: Path) -> str:
    lines = console.read_text(errors="replace").splitlines() if console.exists() else []
    return "\n".join(f"  {line}" for line in lines[-_LINES:]) or "  (nothing)"
