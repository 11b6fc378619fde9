"""Waiting for a guest: its console says when its container runtime answers."""

import asyncio
import time
from pathlib import Path
from typing import Final

from flexlet.adapters.qemu import processes
from flexlet.adapters.qemu.directory import MachineDirectory
from flexlet.errors import HypervisorError

READY: Final = b"flexlet-guest: ready"
BOOT_S: Final = 300.0
_LOOK_S: Final = 0.1
_LINES: Final = 15


async def ready(machine: MachineDirectory, patience_s: float = BOOT_S) -> float:
    """How long it took; HypervisorError with the end of the console if the machine ends or takes too long."""
    console = machine.file("console.log")
    begin = time.monotonic()
    try:
        async with asyncio.timeout(patience_s):
            while not _says_ready(console):
                if machine.file("pid") not in processes.running([machine.file("pid")]):
                    raise HypervisorError(f"machine {machine.name} has ended while it booted:\n{_end(console)}")
                await asyncio.sleep(_LOOK_S)
    except TimeoutError as error:
        raise HypervisorError(
            f"machine {machine.name} has not booted within {patience_s:g} s; its console ends:\n{_end(console)}"
        ) from error
    return time.monotonic() - begin


def _says_ready(console: Path) -> bool:
    return console.exists() and READY in console.read_bytes()


def _end(console: Path) -> str:
    lines = console.read_text(errors="replace").splitlines() if console.exists() else []
    return "\n".join(f"  {line}" for line in lines[-_LINES:]) or "  (nothing)"
