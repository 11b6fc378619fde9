"""``flexlet server``: the embedded API server alone, until it is told to stop."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver.auth.kubeconfig import write_kubeconfig
from flexlet.apiserver.server import ApiServer, Settings, serving


async def serve(settings: Settings, kubeconfig: Path | None, ready: Callable[[ApiServer], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called once, when clients can connect."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with serving(settings, SystemClock()) as server:
        if kubeconfig is not None:
            write_kubeconfig(kubeconfig, server.kubeconfig())
        ready(server)
        await stop.wait()
