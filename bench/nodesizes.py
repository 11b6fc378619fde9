"""A thousand NodeSizes on a thousand hollow nodes: what their controller costs as a process of its own.

Three processes: ``flexlet server``, this one with the hollow nodes, and ``flexlet controllers``, which alone is
measured. Everything goes over HTTPS, as in any cluster. CPU is what the kernel has charged it with.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from bench import controlplane
from bench.apiserver import flexlet
from bench.sizedfleet import Sizes, hollow_nodes
from flexlet.adapters.kube import kubeconfig as kube
from flexlet.adapters.kube.client import HttpCluster
from flexlet.apps import nodesize, vms

Figure = tuple[str, float, str]

COUNT: Final = int(os.environ.get("BENCH_NODE_SIZES", "1000"))
IDLE_S: Final = 60.0
SINGLE: Final = 20
_TICK: Final = os.sysconf("SC_CLK_TCK")


class Process:
    """``flexlet controllers`` as the kernel sees it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def cpu_s(self) -> float:
        """Seconds of CPU so far, those of its system calls included."""
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def resident(self) -> float:
        """Resident memory in MB."""
        return controlplane.resident(self._pid) / 1e6


def run() -> list[Figure]:
    """Start them, size all nodes, leave them alone, resize them all and some one by one."""
    with flexlet("server") as (kubeconfig, _, _):
        return asyncio.run(_measured(kubeconfig))


async def _measured(kubeconfig: Path) -> list[Figure]:
    async with HttpCluster(kube.load(kubeconfig), "flexlet-bench") as cluster:
        await nodesize.install(cluster)
        await vms.install(cluster)
        async with hollow_nodes(cluster, COUNT), Sizes(cluster, COUNT) as sizes:
            async with _controllers(kubeconfig) as process:
                await asyncio.sleep(5)
                empty = process.resident()
            _say(f"{COUNT} nodes are registered")
            await sizes.create("8")
            begin = time.monotonic()
            async with _controllers(kubeconfig) as process:
                return [
                    ("memory without NodeSizes", empty, "MB"),
                    *await _made(sizes, process, begin),
                    *await _idle(process),
                    *await _resized(sizes, process),
                    ("memory at last", process.resident(), "MB"),
                ]


async def _made(sizes: Sizes, process: Process, begin: float) -> list[Figure]:
    """From the start of the process to the last balloon."""
    await sizes.all_have("8")
    return [
        (f"{COUNT} NodeSizes: from start to all Ready", time.monotonic() - begin, "s"),
        ("CPU of that, per node", 1000 * process.cpu_s() / COUNT, "ms"),
        (f"memory with {COUNT} NodeSizes", process.resident(), "MB"),
    ]


async def _idle(process: Process) -> list[Figure]:
    await asyncio.sleep(10)
    _say(f"nothing happens for {IDLE_S:g} s")
    before = process.cpu_s()
    await asyncio.sleep(IDLE_S)
    return [("CPU in an idle minute", process.cpu_s() - before, "s")]


async def _resized(sizes: Sizes, process: Process) -> list[Figure]:
    """All at once, which is about throughput; and one by one, which is about patience."""
    before, begin = process.cpu_s(), time.monotonic()
    await sizes.retarget("4")
    await sizes.all_have("4")
    wall, used = time.monotonic() - begin, process.cpu_s() - before
    waits = sorted([await sizes.one(index, "6") for index in range(SINGLE)])
    return [
        (f"{COUNT} resizes at once: until all Ready", wall, "s"),
        ("CPU of a resize", 1000 * used / COUNT, "ms"),
        ("one resize, all others idle: p50", 1000 * waits[len(waits) // 2], "ms"),
    ]


@contextlib.asynccontextmanager
async def _controllers(kubeconfig: Path) -> AsyncIterator[Process]:
    command = [sys.executable, "-m", "flexlet", "controllers", "--kubeconfig", str(kubeconfig)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:  # noqa: ASYNC220 it is measured, not awaited
        try:
            yield Process(process.pid)
        finally:
            process.terminate()
            await asyncio.to_thread(process.wait, 60)


def _say(text: str) -> None:
    print(f"  {text}", file=sys.stderr)
