"""Stands in for the QEMU program: takes its command line, serves both monitors, ends when told to.

``FAKE_QEMU`` in the environment makes it misbehave: ``broken`` (complains and ends at once), ``deaf`` (ignores the
power button), ``hung`` (ignores the power button and ``quit``).
"""

import asyncio
import os
import re
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from tests.adapters.qemu.qmpserver import QmpMachine

MANNER = os.environ.get("FAKE_QEMU", "")


class Pretended(QmpMachine):
    """A machine whose end is the end of this process."""

    def __init__(self, over: asyncio.Event) -> None:
        super().__init__()
        self.over = over

    def _system_powerdown(self) -> Any:
        if MANNER not in {"deaf", "hung"}:
            self.over.set()
        return {}

    def _quit(self) -> Any:
        if MANNER != "hung":
            self.over.set()
        return {}


async def main(words: list[str]) -> None:
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    for word in words:
        found = re.match(r"socket,id=qmp\d,fd=(\d+)", word)
        if found:
            monitor = socket.socket(fileno=int(found[1]))
            monitor.setblocking(False)
            await asyncio.start_unix_server(Pretended(over).serve, sock=monitor)
    await over.wait()
    os._exit(0)


if __name__ == "__main__":
    if MANNER == "broken":
        sys.exit("fakeqemu: -machine q35: no such machine")
    Path(sys.argv[sys.argv.index("-pidfile") + 1]).write_text(str(os.getpid()))
    asyncio.run(main(sys.argv[1:]))
