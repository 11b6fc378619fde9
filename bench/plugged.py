"""A machine that gets a CPU for a pod that waits for it, and memory that nobody tells of; when each was seen.

Times are of this host's clock. When a CPU came online is read in the guest, on its own clock, and brought to ours.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from bench import vmturns
from bench.podwatch import NAMESPACE, Holds, PodWatch, all_running, gone
from flexlet.adapters.guest.client import Guest
from flexlet.api.quantity import Quantity
from flexlet.api.status import AlreadyExists
from flexlet.api.units import MIB
from flexlet.apps.lab import Machine
from flexlet.core.lab.plans import Refused
from flexlet.core.lab.unplugging import Unplugged
from flexlet.engine.lab import sizing
from flexlet.engine.lab.sizing import Deed, Wish
from flexlet.ports.cluster import NODES, PODS, Cluster, Ref

Json = dict[str, Any]

POD: Final = "waiting"
_ACCOUNTS: Final = Ref("", "v1", "serviceaccounts")
_SMALL, _LARGE = 2, 3
_PATIENCE_S: Final = 120.0
_LOOKS: Final = 5
_SETTLE_S: Final = 10.0
_IDLE_S: Final = 30.0
_BASE, _STEP = 130 * MIB, 100 * MIB
"""Two blocks of memory are online with the first; the second fits into them."""
_ONLINE: Final = """
cpu=/sys/devices/system/cpu/cpu$1/online
until [ -e $cpu ]; do usleep 20000; done
echo 1 > $cpu
read up rest < /proc/uptime
echo $up
"""


class Sample(msgspec.Struct):
    """Seconds from a CPU to the Node and to the pod, and from memory to the Node; cores used while idle."""

    node: list[float] = []
    pod: list[float] = []
    memory: list[float] = []
    idle: float = 0.0
    refused: int = 0
    """Pods that their node refused although it had the room: a kubelet that has just started may."""


class Plugged:
    """One machine, and all that is seen of it."""

    def __init__(self, cluster: Cluster, machine: Machine, pods: PodWatch, nodes: PodWatch) -> None:
        self._cluster = cluster
        self._guest = machine.guest
        self._hypervisor = machine.hypervisor
        self._pods = pods
        self._nodes = nodes

    async def begin(self) -> None:
        """Pods need an account; a controller may have made it already."""
        try:
            await self._cluster.create(_ACCOUNTS, NAMESPACE, {"metadata": {"name": "default"}})
        except AlreadyExists:
            return

    async def plug(self, sample: Sample, then: Callable[[Guest], Awaitable[None]]) -> None:
        """A CPU in, for a pod that waits for it, and out again; after each, what the node needs to notice."""
        self._pods.forget()
        await self._cluster.create(PODS, NAMESPACE, _pod())
        await self._pods.when(POD, _is_unschedulable, "found too large")
        self._nodes.forget()
        await self._hypervisor.plug((await self._hypervisor.cpus())[_SMALL])
        online = await self._online()
        await then(self._guest)
        sample.node.append(await self._nodes.when(vmturns.NODE, _has_cpus(_LARGE), "larger") - online)
        sample.pod.append(await self._runs(sample) - online)
        await self._cluster.delete(PODS, NAMESPACE, POD)
        await self._pods.when(POD, gone, "gone")
        self._nodes.forget()
        outcome = await self._hypervisor.unplug((await self._hypervisor.cpus())[_SMALL], _PATIENCE_S)
        if outcome != Unplugged():
            raise RuntimeError(f"the CPU did not go: {outcome}")
        await then(self._guest)
        await self._nodes.when(vmturns.NODE, _has_cpus(_SMALL), "smaller")

    async def _runs(self, sample: Sample) -> float:
        """When the pod ran; one that its node refuses is made again, as a controller would."""
        ended: list[Json] = []
        while True:
            at = await self._pods.when(POD, lambda pod: all_running(pod) or _has_failed(pod, ended), "running")
            if not ended:
                return at
            ended.clear()
            sample.refused += 1
            await self._cluster.delete(PODS, NAMESPACE, POD)
            await self._pods.when(POD, gone, "gone")
            self._pods.forget()
            await self._cluster.create(PODS, NAMESPACE, _pod())

    async def stretch(self, sample: Sample) -> None:
        """Memory in and out of blocks that are online; the kernel says nothing about it."""
        await self._elastic(sizing.plug, _BASE)
        for deed in 3 * (sizing.plug, sizing.unplug):
            sample.memory.append(await self._elastic(deed, _STEP))
        await self._elastic(sizing.unplug, _BASE)

    async def rest(self, sample: Sample) -> None:
        """Nothing happens for a while; what the node's program uses meanwhile."""
        await asyncio.sleep(_SETTLE_S)
        before, begin = await vmturns.usage(self._guest), time.monotonic()
        await asyncio.sleep(_IDLE_S)
        after = await vmturns.usage(self._guest)
        if after.pid != before.pid:
            raise RuntimeError("the node's program was started anew while it was measured")
        sample.idle = (after.cpu_s - before.cpu_s) / (time.monotonic() - begin)

    async def _online(self) -> float:
        """Bring the new CPU online; when the kernel had it."""
        done = await self._guest.run(["sh", "-c", _ONLINE, "sh", str(_SMALL)], patience_s=_PATIENCE_S)
        return float(done.stdout) + await self._offset()

    async def _offset(self) -> float:
        """How far this host's clock is ahead of the guest's: the quickest of a few looks tells best."""
        found = []
        for _ in range(_LOOKS):
            before = time.monotonic()
            done = await self._guest.run(["cat", "/proc/uptime"])
            after = time.monotonic()
            found.append((after - before, (before + after) / 2 - float(done.stdout.split()[0])))
        return min(found)[1]

    async def _elastic(self, deed: Deed, size: int) -> float:
        self._nodes.forget()
        before = await self._memory()
        done = await deed(self._hypervisor, None, Wish(memory=size, device="virtio-mem", patience_s=_PATIENCE_S))
        if isinstance(done, Refused) or done.refusal is not None:
            raise RuntimeError(f"the memory of the machine did not follow: {done}")
        there = time.monotonic()
        return await self._nodes.when(vmturns.NODE, _has_other_memory(before), "of another size") - there

    async def _memory(self) -> int:
        node = msgspec.json.decode(await self._cluster.get(NODES, "", vmturns.NODE))
        return _memory_of(node)


async def nobody(_: Guest) -> None:
    """The node notices by itself."""


async def started_again(guest: Guest) -> None:
    """The node's program reads its machine only when it starts."""
    await guest.run(["sh", "-c", vmturns.END], patience_s=_PATIENCE_S)


def _has_cpus(number: int) -> Holds:
    return lambda node: node is not None and node["status"]["capacity"]["cpu"] == str(number)


def _has_other_memory(before: int) -> Holds:
    return lambda node: node is not None and _memory_of(node) != before


def _memory_of(node: Json) -> int:
    return Quantity.parse(node["status"]["capacity"]["memory"]).value


def _has_failed(pod: Json | None, ended: list[Json]) -> bool:
    """Whether it has; then it is in `ended`."""
    if pod is None or (pod.get("status") or {}).get("phase") != "Failed":
        return False
    ended.append(pod)
    return True


def _is_unschedulable(pod: Json | None) -> bool:
    conditions = ((pod or {}).get("status") or {}).get("conditions") or ()
    return any(each.get("reason") == "Unschedulable" for each in conditions)


def _pod() -> Json:
    """One container that sleeps, and needs more CPUs than the machine has at first."""
    sleeper = {"image": "busybox:1", "imagePullPolicy": "Never", "command": ["sleep", "1000000"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": POD},
        "spec": {
            "containers": [{**sleeper, "name": "c", "resources": {"requests": {"cpu": f"{_SMALL}500m"}}}],
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 1,
        },
    }
