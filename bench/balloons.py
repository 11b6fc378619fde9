"""How fast a node gets another size: kubelet 1.36.3 and flexlet agent as the node of one machine, in turn.

A real control plane, ``flexlet controllers`` as a process of its own, and one pod that must not be hurt. A resize
is timed from the PATCH of the NodeSize to the first status of the balloon that has it allocated: the controller,
the API server and the node, all of it. Without KVM the machine is emulated: compare the figures of one run.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench import controlplane, vmturns
from bench.ballooned import LARGE, SMALL, Ballooned, Sample
from bench.controlplane import ControlPlane
from bench.podwatch import watching
from bench.vm import missing
from flexlet.adapters.image.oci import PAUSE
from flexlet.adapters.kube import kubeconfig as kube
from flexlet.adapters.kube.client import HttpCluster
from flexlet.apps import nodesize
from flexlet.core.nodesize import names
from flexlet.ports.cluster import PODS, Ref

Figure = tuple[str, float, str]

ROUNDS: Final = int(os.environ.get("BENCH_BALLOON_ROUNDS", "50"))
FEW: Final = 5


def run() -> list[Figure]:
    """Both sides; nothing, and a line that says why, where something is missing."""
    if lacking := missing():
        print(f"  skipped: {lacking}", file=sys.stderr)
        return []
    with controlplane.control_plane() as real, tempfile.TemporaryDirectory() as data:
        real.start_controllers()
        found = asyncio.run(_measured(real, Path(data)))
    return [row for who, sample in found.items() for row in figures(who, sample)]


def figures(who: str, found: Sample) -> list[Figure]:
    """Medians, and what ninety-nine of a hundred stay below."""
    rows = [("inflate to allocated", found.inflate), ("deflate to allocated", found.deflate)]
    timed = [
        (f"{label}, p{round(100 * part)}, {who}", _quantile(values, part), "s")
        for label, values in rows
        for part in (0.5, 0.99)
    ]
    return [
        *timed,
        (f"no room to refusal, longest, {who}", max(found.refused), "s"),
        (f"balloon deleted to counted again, longest, {who}", max(found.counted), "s"),
        (f"balloon deleted to running again, longest, {who}", max(found.running), "s"),
        (f"victims, {who}", found.victims, ""),
    ]


def _quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


async def _measured(real: ControlPlane, data: Path) -> dict[str, Sample]:
    async with HttpCluster(kube.load(real.kubeconfig), "flexlet-bench") as cluster:
        await nodesize.install(cluster)
        await _served(cluster)
        with _controllers(real, data / "controllers.log"):
            async with vmturns.booted(real, data) as machine:
                found = {}
                for who in (vmturns.KUBELET, vmturns.FLEXLET):
                    await vmturns.take_turn(machine.guest, who, cluster)
                    found[who] = await _turn(cluster, who)
                return found


async def _turn(cluster: HttpCluster, who: str) -> Sample:
    sample = Sample()
    async with (
        watching(cluster) as pods,
        watching(cluster, PODS, names.NAMESPACE) as balloons,
        watching(cluster, Ref(*names.NODE_SIZES), "") as wishes,
    ):
        node = Ballooned(cluster, pods, balloons, wishes)
        await node.begin()
        for number in range(ROUNDS):
            print(f"  {who}: {number + 1} of {ROUNDS}", file=sys.stderr)
            sample.inflate.append(await node.resize(LARGE))
            sample.deflate.append(await node.resize(SMALL))
        for _ in range(FEW):
            sample.refused.append(await node.refuse())
        for _ in range(FEW):
            counted, running = await node.lose()
            sample.counted.append(counted)
            sample.running.append(running)
        sample.victims = await node.hurt()
        await node.end()
    return sample


async def _served(cluster: HttpCluster) -> None:
    """The server takes a moment to serve a new kind."""
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(Exception):
                await nodesize.require_kind(cluster)
                return
            await asyncio.sleep(0.2)


@contextlib.contextmanager
def _controllers(real: ControlPlane, log: Path) -> Iterator[None]:
    """``flexlet controllers``."""
    command = [sys.executable, "-m", "flexlet", "controllers", "--kubeconfig", str(real.kubeconfig)]
    with (
        log.open("wb") as said,
        subprocess.Popen([*command, "--balloon-image", PAUSE], stdout=said, stderr=said) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)
