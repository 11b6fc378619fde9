"""Hot plug and hot unplug of a real machine: what its node, its cgroups and its pods make of it.

Each test gives back what it plugged. Nothing is restarted but the agent, where it needs another configuration.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.vm import plugging
from tests.vm.amounts import resources
from tests.vm.node import NAME, NAMESPACE, Hands, Node, Object, container, lives, pod
from tests.vm.plugging import EVICTION, MORE, Kernel, becomes, follows, look, shown

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import GIB, MIB
from flexlet.engine.lab.sizing import Wish
from flexlet.ports.cluster import NODES, PODS, Ref

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1200)]
CPUS, MEMORY = Wish(cpus=MORE.cpus), Wish(memory=MORE.memory)
SIZED = resources("200m,256Mi / ,512Mi")
REQUEST = 256 * MIB
STUBBORN = 998
BY_ITSELF = f"echo {STUBBORN} > /proc/self/oom_score_adj; trap 'exit 0' TERM; sleep 1000000 & wait"
SWAPPED = {"memorySwap": {"swapBehavior": "LimitedSwap"}}
STATIC = {"cpuManagerPolicy": "static", "systemReserved": {"cpu": "500m"}}


class History:
    """Sizes of the node and phases of pods, in the order in which the API server wrote them."""

    def __init__(self) -> None:
        self._seen: list[tuple[int, str, str]] = []

    async def follow(self, hands: Hands, ref: Ref, namespace: str, version: str) -> None:
        """Until cancelled."""
        async for changes in hands.api.watch(ref, version, namespace):
            for each in changes:
                found = msgspec.json.decode(each.object)
                meta, status = found["metadata"], found["status"]
                said = status["capacity"]["cpu"] if ref == NODES else status.get("phase", "")
                self._seen.append((int(meta["resourceVersion"]), meta["name"], said))

    def first(self, name: str, said: str) -> int:
        """When this was first said of an object."""
        return min(version for version, *what in self._seen if what == [name, said])


@contextlib.asynccontextmanager
async def told(hands: Hands) -> AsyncIterator[History]:
    """What the API server writes meanwhile."""
    history = History()
    async with asyncio.TaskGroup() as group:
        tasks = []
        for ref, namespace in ((NODES, ""), (PODS, NAMESPACE)):
            version = (await hands.api.list(ref, namespace)).resource_version
            tasks.append(group.create_task(history.follow(hands, ref, namespace, version)))
        yield history
        for task in tasks:
            task.cancel()


async def test_whoever_waited_runs_and_whoever_has_no_room_ends(node: Node, hands: Hands) -> None:
    """Two CPUs and a GiB in and out again; a pod that fits all the time does not notice, but its values follow."""
    async with plugging.swapping(hands, 256 * MIB), plugging.configured(hands, SWAPPED):
        small = await look(hands)
        own = container("own", BY_ITSELF, resources=resources("20m,16Mi / ,32Mi"))
        steady = await hands.start("steady", container(resources=SIZED), own)
        await _fits(hands, small, steady)
        for name, size in (("wide", "50m,2200Mi"), ("fast", "2500m,32Mi")):
            await hands.create(PODS, pod(name, container(resources=resources(size))))
            await hands.until("it waits for room", name, _is_unschedulable)
            await asyncio.sleep(1)  # the older goes first, and ages are whole seconds

        large = await plugging.grown(hands, node.vm)
        assert (len(large.online), large.memory) == (len(small.online) + 2, small.memory + GIB)
        await _fits(hands, large, steady)
        wide, _ = await hands.ready("wide"), await hands.ready("fast")

        async with told(hands) as history:
            await plugging.shrunk(hands, node.vm, CPUS)
            fast = await hands.until("it ends", "fast", _has_failed)
        assert history.first(NAME, "2") < history.first("fast", "Failed")
        assert _why(fast) == ("OutOfcpu", _words("cpu", 2500, 270, 2000))
        assert lives(await hands.get("wide")) == lives(wide)

        await plugging.shrunk(hands, node.vm, MEMORY)
        wide = await hands.until("it ends", "wide", _has_failed)
        # Memory leaves block by block, and the pod is evicted when the last has been gone for a while.
        capacity = small.memory - EVICTION
        assert _why(wide) == ("OutOfmemory", _words("memory", 2200 * MIB, 272 * MIB, capacity))
        await _fits(hands, small, steady)
        for each, reason in ((fast, "OutOfcpu"), (wide, "OutOfmemory")):
            await becomes(lambda each=each: _warnings(hands, each), {reason: 1, "NodeCapacityExceeded": 1})  # type: ignore[misc]

        await hands.inside(f"swapoff {plugging.SWAP}")
        await _fits(hands, msgspec.structs.replace(small, swap=0), steady)
        await hands.delete("steady", "wide", "fast")


async def test_up_and_down_again(node: Node, hands: Hands) -> None:
    """Every size gives the values that it gave the time before, and a pod lives through all of them."""
    steady = await hands.start("steady", container(resources=SIZED))
    small = await look(hands)
    values = {small: await _values(hands, steady)}
    for change in (plugging.grown, plugging.shrunk, plugging.grown, plugging.shrunk):
        kernel = await change(hands, node.vm)
        expected = {"node": follows(kernel), "score": {kernel.oom_score(REQUEST)}, "swap": None, "limit": "0"}
        await becomes(lambda: _values(hands, steady), values.setdefault(kernel, expected))
    assert len(values) == 2

    # Below what it was started with, by an administrator: nobody brings that back online but who took it.
    for online in ("0", "1", "0", "1"):
        await hands.inside(f"echo {online} > /sys/devices/system/cpu/cpu1/online")
        kernel = msgspec.structs.replace(small, online=CpuSet.parse("0-1" if online == "1" else "0"))
        await plugging.reported(hands, kernel)
        await becomes(lambda: shown(hands), follows(kernel))
    assert lives(await hands.get("steady")) == lives(steady)
    await hands.delete("steady")


async def test_memory_that_nobody_tells_of(node: Node, hands: Hands) -> None:
    """virtio-mem fills up blocks that are online already without an event; the node looks now and then."""
    small = await look(hands)
    for size in (130 * MIB, 120 * MIB):
        await plugging.grown(hands, node.vm, Wish(memory=size, device="virtio-mem"))
    kernel = await plugging.shrunk(hands, node.vm, Wish(memory=250 * MIB, device="virtio-mem"))
    assert kernel == small
    await becomes(lambda: shown(hands), follows(small))


async def test_cpus_of_their_own(node: Node, hands: Hands) -> None:
    """With the static policy new CPUs are for everybody, and who owned one that is gone gets another."""
    async with plugging.configured(hands, STATIC):
        whole = container(resources=resources("1,32Mi / 1,32Mi"))
        first = await hands.start("first", whole)
        shared = await hands.start("shared", container(resources=resources("100m,32Mi")))
        assert await _cpusets(hands, first, shared) == ["1", "0"]
        await hands.create(PODS, pod("second", whole))
        await hands.until("it waits for room", "second", _is_unschedulable)

        await plugging.grown(hands, node.vm, CPUS)
        second = await hands.ready("second")
        await becomes(lambda: _cpusets(hands, first, second, shared), ["1", "2", "0,3"])

        await hands.delete("first")
        await becomes(lambda: _cpusets(hands, second, shared), ["2", "0-1,3"])
        await plugging.shrunk(hands, node.vm, CPUS)
        await becomes(lambda: _cpusets(hands, second, shared), ["1", "0"])
        for before in (second, shared):
            assert lives(await hands.get(before["metadata"]["name"])) == lives(before)
        await becomes(lambda: _told(hands, second, "ExclusiveCPUsReassigned"), 1)
        await hands.delete("second", "shared")


async def _cpusets(hands: Hands, *pods: Object) -> list[str]:
    return [await plugging.file(hands, each, "c", "cpuset.cpus.effective") for each in pods]


async def _fits(hands: Hands, kernel: Kernel, steady: Object) -> None:
    """Node, cgroups and the containers of a pod that runs all the time are as the size of the machine says."""
    expected = {
        "node": follows(kernel),
        "swap": {"capacity": kernel.swap} if kernel.swap else None,
        "score": {kernel.oom_score(REQUEST)},
        "limit": str(kernel.swap_limit(REQUEST)),
    }
    await becomes(lambda: _values(hands, steady), expected)
    assert await plugging.scores(hands, steady, "own") == {STUBBORN}
    assert lives(await hands.get("steady")) == lives(steady)


async def _values(hands: Hands, steady: Object) -> dict[str, Any]:
    return {
        "node": await shown(hands),
        "swap": (await hands.get(NAME, NODES))["status"]["nodeInfo"].get("swap"),
        "score": await plugging.scores(hands, steady, "c"),
        "limit": await plugging.file(hands, steady, "c", "memory.swap.max"),
    }


def _is_unschedulable(found: Object) -> bool:
    return any(each.get("reason") == "Unschedulable" for each in found["status"].get("conditions", ()))


def _has_failed(found: Object) -> bool:
    return bool(found["status"]["phase"] == "Failed")


def _why(found: Object) -> tuple[str, str]:
    return found["status"]["reason"], found["status"]["message"]


def _words(resource: str, requested: int, used: int, capacity: int) -> str:
    amounts = f"{resource}, requested: {requested}, used: {used}, capacity: {capacity}"
    return f"Pod was rejected: Node didn't have enough resource: {amounts}"


async def _told(hands: Hands, found: Object, reason: str) -> int:
    return (await hands.events(found)).get(reason, 0)


async def _warnings(hands: Hands, found: Object) -> dict[str, int]:
    reasons = {"OutOfcpu", "OutOfmemory", "NodeCapacityExceeded", "ExceededGracePeriod"}
    return {reason: count for reason, count in (await hands.events(found)).items() if reason in reasons}
