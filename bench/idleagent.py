"""What a whole agent costs on this host while nothing happens, with the gates of hot plug on.

The agent is the real one on the real clock: it looks at its machine, writes its heartbeat, looks after its
pods. Its machine, its runtime and its API server are simulated in the same process, and what they cost is
counted with it. What a look at a real machine costs is measured on its own. Duties that need a real disk
(eviction, images, logs) are not there: the figure from the machine has them.
"""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from flexlet.adapters.clock import SystemClock
from flexlet.adapters.sysfs.reader import SysfsHost
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine import sources
from flexlet.ports.cluster import PODS
from flexlet.testing import NodeOptions, SimulatedNode
from flexlet.testing.cluster import serving

Figure = tuple[str, float, str]

LOOKS: Final = 200
POLL_S: Final = 10.0
PODS_RUNNING: Final = 5
SETTLE_S: Final = 15.0
IDLE_S: Final = 60.0
_SIZE: Final = {"requests": {"cpu": "100m", "memory": "64Mi"}}


async def looks() -> list[Figure]:
    """What looking at the sizes costs, and what that is of a core when done as often as nodes do."""
    host = SysfsHost()
    await host.read(sources.SIZES, ("/",))
    before = time.process_time()
    for _ in range(LOOKS):
        await host.read(sources.SIZES, ("/",))
    seconds = (time.process_time() - before) / LOOKS
    return [
        ("one look at the sizes of this host", 1e6 * seconds, "µs of CPU"),
        (f"a look every {POLL_S:g} s", 100 * seconds / POLL_S, "% of a core"),
    ]


async def idle() -> list[Figure]:
    """A node with a few pods that is left alone."""
    options = NodeOptions(cpus="0-3", memory=8 << 30, resize=ResizeSettings(plug=True, unplug=True))
    with tempfile.TemporaryDirectory() as directory:
        async with serving(SystemClock()) as cluster:
            node = SimulatedNode(cluster, Path(directory), options)
            async with node.running():
                for number in range(PODS_RUNNING):
                    await cluster.create(PODS, _pod(f"idle-{number}", options.name))
                await asyncio.sleep(SETTLE_S)
                await _all_run(cluster)
                share = await _share(IDLE_S)
    return [(f"whole agent with {PODS_RUNNING} pods, simulated runtime and API", 100 * share, "% of a core")]


async def _all_run(cluster: Any) -> None:
    phases = {(await cluster.pod(f"idle-{number}"))["status"]["phase"] for number in range(PODS_RUNNING)}
    if phases != {"Running"}:
        raise RuntimeError(f"the pods are {', '.join(sorted(phases))} after {SETTLE_S:g} s")


async def _share(seconds: float) -> float:
    """How much of a core this process used."""
    begin, before = time.monotonic(), time.process_time()
    await asyncio.sleep(seconds)
    return (time.process_time() - before) / (time.monotonic() - begin)


def _pod(name: str, node: str) -> dict[str, Any]:
    container = {"name": "c", "image": "busybox:1", "command": ["sleep", "1000000"], "resources": _SIZE}
    spec = {"containers": [container], "nodeName": node, "automountServiceAccountToken": False}
    return {"metadata": {"name": name}, "spec": spec}
