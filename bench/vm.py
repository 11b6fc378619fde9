"""kubelet 1.36.3 and flexlet agent as the node of the same machine, in turn, under a real control plane.

Same guest, same containerd, same pods; who goes first alternates from round to round. In every turn two pods of
two containers are made (one with resources of its containers, one with resources of its own), resized up and down,
left alone for a while, and deleted. Both programs run with the same KubeletConfiguration, defaults but for
eviction and swap, and with default feature gates. Without KVM the machine is emulated: compare the figures of one
run with each other, and with nothing else.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import msgspec

from bench import controlplane, vmturns
from bench.controlplane import ControlPlane
from bench.podwatch import NAMESPACE, PodWatch, all_running, gone, resized, watching
from flexlet.adapters import image
from flexlet.adapters.guest.client import Guest
from flexlet.adapters.kube import kubeconfig as kube
from flexlet.adapters.kube.client import HttpCluster
from flexlet.ports.cluster import PODS, Cluster, Ref

Figure = tuple[str, float, str]
Json = dict[str, Any]

ROUNDS: Final = int(os.environ.get("BENCH_VM_ROUNDS", "3"))
RESIZES: Final = 10
SETTLE_S: Final = 10.0
IDLE_S: Final = 30.0
WHOLE: Final = "pod"
PARTS: Final = "container"
_ACCOUNTS: Final = Ref("", "v1", "serviceaccounts")
_SIZES: Final = {
    WHOLE: (("200m", "128Mi", "500m", "256Mi"), ("250m", "160Mi", "600m", "320Mi")),
    PARTS: (("50m", "32Mi", "100m", "64Mi"), ("75m", "48Mi", "150m", "96Mi")),
}
"""Requests and limits, before and after a resize; the next one goes back."""


class Sample(msgspec.Struct):
    """What was measured of one side, in seconds, bytes and cores."""

    start: list[float] = []
    pod: list[float] = []
    container: list[float] = []
    resident: list[float] = []
    idle: list[float] = []


def missing() -> str:
    """What is needed before this bench can run; empty if nothing."""
    lacking = [text for text in (controlplane.missing(),) if text]
    if not vmturns.PROGRAM.exists():
        lacking.append("needs tools/kubernetes/build kubelet")
    if packages := image.missing_tools():
        lacking.append(f"needs the Debian packages {', '.join(packages)}")
    return "; ".join(lacking)


def run() -> list[Figure]:
    """Both sides and their ratios; nothing, and a line that says why, where something is missing."""
    if lacking := missing():
        print(f"  skipped: {lacking}", file=sys.stderr)
        return []
    with controlplane.control_plane() as real, tempfile.TemporaryDirectory() as data:
        accelerator, found = asyncio.run(_measured(real, Path(data)))
    manner = "emulated, so times are long" if accelerator == "tcg" else "on KVM"
    print(f"  the machine is {manner}", file=sys.stderr)
    return figures(found[vmturns.KUBELET], found[vmturns.FLEXLET])


def figures(theirs: Sample, ours: Sample) -> list[Figure]:
    """Each row three times: kubelet's, flexlet's, and how many times kubelet's ours is."""
    rows: list[Figure] = []
    for (label, there, unit), (_, here, _) in zip(_summary(theirs), _summary(ours), strict=True):
        rows += [(f"{label}, kubelet", there, unit), (f"{label}, flexlet", here, unit)]
        rows.append((f"{label}, flexlet : kubelet", here / there if there else float("nan"), "x"))
    return rows


def _summary(found: Sample) -> list[Figure]:
    return [
        ("pod-level resize, PATCH to status, p50", _quantile(found.pod, 0.5) * 1000, "ms"),
        ("pod-level resize, PATCH to status, p90", _quantile(found.pod, 0.9) * 1000, "ms"),
        ("container-level resize, PATCH to status, p50", _quantile(found.container, 0.5) * 1000, "ms"),
        ("container-level resize, PATCH to status, p90", _quantile(found.container, 0.9) * 1000, "ms"),
        ("pod create to both containers running, p50", _quantile(found.start, 0.5), "s"),
        ("resident memory with the pods, median", _quantile(found.resident, 0.5) / 1e6, "MB"),
        ("idle CPU with the pods, median", _quantile(found.idle, 0.5) * 100, "% of a core"),
    ]


def _quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


async def _measured(real: ControlPlane, data: Path) -> tuple[str, dict[str, Sample]]:
    found = {vmturns.KUBELET: Sample(), vmturns.FLEXLET: Sample()}
    async with (
        HttpCluster(kube.load(real.kubeconfig), "flexlet-bench") as cluster,
        vmturns.booted(real, data) as machine,
        watching(cluster) as watch,
    ):
        await cluster.create(_ACCOUNTS, NAMESPACE, {"metadata": {"name": "default"}})
        for number in range(ROUNDS):
            for who in sorted(found, reverse=number % 2 == 0):
                print(f"  round {number + 1} of {ROUNDS}: {who}", file=sys.stderr)
                await vmturns.take_turn(machine.guest, who, cluster)
                await _turn(cluster, watch, machine.guest, found[who])
        return machine.accelerator, found


async def _turn(cluster: Cluster, watch: PodWatch, guest: Guest, sample: Sample) -> None:
    for level in _SIZES:
        sample.start.append(await _start(cluster, watch, level))
    await asyncio.sleep(SETTLE_S)
    for number in range(1, RESIZES + 1):
        sample.pod.append(await _resize(cluster, watch, WHOLE, number))
        sample.container.append(await _resize(cluster, watch, PARTS, number))
    await asyncio.sleep(SETTLE_S)
    before = await vmturns.usage(guest)
    begin = time.monotonic()
    await asyncio.sleep(IDLE_S)
    after = await vmturns.usage(guest)
    if after.pid != before.pid:
        raise RuntimeError("the node's program was started anew while it was measured")
    sample.idle.append((after.cpu_s - before.cpu_s) / (time.monotonic() - begin))
    sample.resident.append(after.resident)
    await _remove(cluster, watch)


async def _start(cluster: Cluster, watch: PodWatch, level: str) -> float:
    watch.forget()
    begin = time.monotonic()
    await cluster.create(PODS, NAMESPACE, _pod(level))
    return await watch.when(level, all_running, "running") - begin


async def _resize(cluster: Cluster, watch: PodWatch, level: str, number: int) -> float:
    watch.forget()
    body = {"spec": _resources(level, number % 2)}
    begin = time.monotonic()
    raw = await cluster.patch(PODS, NAMESPACE, level, body, kind="strategic", subresource="resize")
    generation = msgspec.json.decode(raw)["metadata"]["generation"]
    return await watch.when(level, resized(generation), "resized") - begin


async def _remove(cluster: Cluster, watch: PodWatch) -> None:
    watch.forget()
    for level in _SIZES:
        await cluster.delete(PODS, NAMESPACE, level)
    for level in _SIZES:
        await watch.when(level, gone, "gone")


def _pod(level: str) -> Json:
    """Two containers that sleep; the scheduler has no part in this."""
    sleeper = {"image": "busybox:1", "imagePullPolicy": "Never", "command": ["sleep", "1000000"]}
    spec = _resources(level, 0)
    sized = {each["name"]: each for each in spec.pop("containers", ())}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": level},
        "spec": {
            **spec,
            "nodeName": vmturns.NODE,
            "containers": [{**sleeper, "name": name, **sized.get(name, {})} for name in ("a", "b")],
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 1,
        },
    }


def _resources(level: str, which: int) -> Json:
    cpu, memory, most_cpu, most_memory = _SIZES[level][which]
    sizes = {
        "requests": {"cpu": cpu, "memory": memory},
        "limits": {"cpu": most_cpu, "memory": most_memory},
    }
    return {"resources": sizes} if level == WHOLE else {"containers": [{"name": "a", "resources": sizes}]}
