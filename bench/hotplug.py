"""From a CPU that comes online in the kernel to a Node that has it, and to a pod that waited for it and runs.

One machine under a real control plane. flexlet agent hears of the CPU from the kernel; kubelet 1.36.3 reads its
machine once, so for it the only way is to be started again, which is done here the moment the CPU is online. (The
drafts of KEP-3953 poll the machine every five minutes: two and a half on average, whatever is measured here.)
Memory comes by virtio-mem into blocks that are online already, of which the kernel tells nobody: then the node
finds it when it next looks. Without KVM the machine is emulated: compare the figures of one run with each other.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Final

from bench import controlplane, idleagent, vmturns
from bench.controlplane import ControlPlane
from bench.plugged import Plugged, Sample, nobody, started_again
from bench.podwatch import watching
from bench.vm import missing
from flexlet.adapters.kube import kubeconfig as kube
from flexlet.adapters.kube.client import HttpCluster
from flexlet.ports.cluster import NODES

Figure = tuple[str, float, str]

PLUGS: Final = int(os.environ.get("BENCH_PLUGS", "10"))
RESTARTS: Final = int(os.environ.get("BENCH_RESTARTS", "5"))
GATES: Final = "--feature-gates=InPlaceNodeResourceResize=true"


def run() -> list[Figure]:
    """Both sides, and what being ready costs on this host; where something is missing a line says what."""
    native = [*asyncio.run(idleagent.looks()), *asyncio.run(idleagent.idle())]
    if lacking := missing():
        print(f"  skipped: {lacking}", file=sys.stderr)
        return native
    with controlplane.control_plane() as real, tempfile.TemporaryDirectory() as data:
        real.start_controllers()
        accelerator, ours, theirs = asyncio.run(_measured(real, Path(data)))
    print(f"  the machine is {'emulated' if accelerator == 'tcg' else 'on KVM'}", file=sys.stderr)
    return [*figures(ours, theirs), *native]


def figures(ours: Sample, theirs: Sample) -> list[Figure]:
    """Medians and what nine of ten stay below."""
    rows = [
        ("CPU online to Node, flexlet", ours.node),
        ("CPU online to Node, kubelet started again", theirs.node),
        ("CPU online to waiting pod running, flexlet", ours.pod),
        ("CPU online to waiting pod running, kubelet started again", theirs.pod),
        ("memory without an event to Node, flexlet", ours.memory),
    ]
    times = [
        (f"{label}, p{round(100 * part)}", _quantile(values, part), "s")
        for label, values in rows
        for part in (0.5, 0.9)
    ]
    return [
        *times,
        ("pods that waited and were refused, flexlet", ours.refused, "pods"),
        ("pods that waited and were refused, kubelet started again", theirs.refused, "pods"),
        ("idle CPU in the machine, flexlet", 100 * ours.idle, "% of a core"),
    ]


def _quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


async def _measured(real: ControlPlane, data: Path) -> tuple[str, Sample, Sample]:
    async with (
        HttpCluster(kube.load(real.kubeconfig), "flexlet-bench") as cluster,
        vmturns.booted(real, data) as machine,
        watching(cluster) as pods,
        watching(cluster, NODES, "") as nodes,
    ):
        bench = Plugged(cluster, machine, pods, nodes)
        await bench.begin()
        ours, theirs = Sample(), Sample()
        await vmturns.take_turn(machine.guest, vmturns.FLEXLET, cluster, GATES)
        for number in range(PLUGS):
            print(f"  flexlet: plug {number + 1} of {PLUGS}", file=sys.stderr)
            await bench.plug(ours, nobody)
        await bench.stretch(ours)
        await bench.rest(ours)
        await vmturns.take_turn(machine.guest, vmturns.KUBELET, cluster)
        for number in range(RESTARTS):
            print(f"  kubelet: restart {number + 1} of {RESTARTS}", file=sys.stderr)
            await bench.plug(theirs, started_again)
        return machine.accelerator, ours, theirs
