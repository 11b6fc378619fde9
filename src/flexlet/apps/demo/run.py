"""The demo as a whole: a cluster of its own, the steps, the table."""

import asyncio
import contextlib
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from flexlet.adapters.clock import SystemClock
from flexlet.apiserver.server import Settings
from flexlet.apps.demo.steps import STEPS
from flexlet.apps.demo.story import Row, tell
from flexlet.apps.demo.world import DemoWorld
from flexlet.apps.up import Vm, cluster
from flexlet.core.lab.spec import MachineSpec

NODE = "demo"


async def run(say: Callable[[str], None]) -> list[Row]:
    """Start everything, tell the story, leave nothing behind."""
    clock = SystemClock()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with _somewhere() as data:
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
            return [first, *await _unless_told(stop, tell(STEPS, world, clock, say))]


async def _unless_told(stop: asyncio.Event, story: object) -> list[Row]:
    telling = asyncio.ensure_future(story)  # type: ignore[call-overload]
    told = asyncio.ensure_future(stop.wait())
    await asyncio.wait({telling, told}, return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    if telling.done():
        rows: list[Row] = telling.result()
        return rows
    telling.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await telling
    return [Row(step="interrupted", before="", after="", seconds=0.0, ok=False)]


@contextlib.contextmanager
def _somewhere() -> Iterator[Path]:
    """A directory for this demo alone."""
    with tempfile.TemporaryDirectory(prefix="flexlet-demo-") as place:
        yield Path(place)
