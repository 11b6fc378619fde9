"""The demo as a whole: a cluster of its own, the steps, the table."""

import asyncio
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver.server import Settings
from flexlet.apps.demo.steps import STEPS
from flexlet.apps.demo.story import Row, tell
from flexlet.apps.demo.world import DemoWorld
from flexlet.apps.up import Vm, cluster, unless
from flexlet.core.lab.spec import MachineSpec

NODE = "demo"
_INTERRUPTED = Row(step="interrupted", before="", after="", seconds=0.0, ok=False)


async def run(say: Callable[[str], None]) -> list[Row]:
    """Start everything, tell the story, leave nothing behind."""
    clock = SystemClock()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with tempfile.TemporaryDirectory(prefix="flexlet-demo-") as place:
        data = Path(place)
        settings = Settings(data=data)
        began = clock.monotonic()
        async with cluster(settings, Vm(MachineSpec(NODE)), data / "kubeconfig", clock, say, stop) as up:
            if up.machine is None or stop.is_set():
                return [Row(step="cluster starts", before="", after="interrupted", seconds=0.0, ok=False)]
            seconds = clock.monotonic() - began
            world = DemoWorld(up.server.cluster, up.machine, NODE, clock, say)
            have = await world.allocatable()
            first = Row(
                step="cluster starts",
                before="nothing",
                after=f"node {NODE} is Ready: {have['cpu']} CPUs, {have['memory']}",
                seconds=seconds,
            )
            rows = await unless(stop, tell(STEPS, world, clock, say))
            return [first, *(rows if rows is not None else [_INTERRUPTED])]
