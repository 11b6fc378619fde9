"""Pods that stand in the way of a prepared unplug: they are evicted, moved or squeezed, never killed."""

from pathlib import Path
from typing import Final

from tests.engine.agent.resizing.stage import (
    BUDGET,
    G1,
    REPLACED,
    RESIZE,
    STATIC,
    STUBBORN,
    WHOLE,
    Stage,
    is_closing_memory,
    is_ready_to_unplug,
    is_refused,
    node,
    staged,
)
from tests.engine.agent.world import amounts, is_gone, is_ready, world

from flexlet.api.units import GIB
from flexlet.core.refs import BUDGETS
from flexlet.ports.cluster import Ref
from flexlet.testing import NodeOptions, SimHost, run

BLOCKED: Final = "default/big is not evicted: The disruption budget keep is still being processed by the server."


async def _evicts(directory: Path) -> None:
    async with staged(directory) as stage:
        there = stage.there
        await there.create("big", {"a": STUBBORN}, {"labels": {"app": "big"}})
        await there.until("big", is_ready)
        await there.cluster.create(Ref(*BUDGETS), BUDGET)
        await stage.wish('{"memory":"4Gi"}')
        await stage.until(is_closing_memory)
        await stage.passes(30)
        # The budget forbids it: nothing is touched, and it is asked again.
        assert (is_ready(await there.get("big")), stage.parts()) == (True, (4, 64))
        assert await stage.message() == f"pods make room before parts of the machine are unplugged; {BLOCKED}"
        allowed = {"status": {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 1}}
        await there.cluster.cluster.patch(Ref(*BUDGETS), "default", "keep", allowed, subresource="status")
        found = await there.until("big", lambda found: found is None or "deletionTimestamp" in found["metadata"])
        reasons = [each["reason"] for each in found["status"]["conditions"] if each["type"] == "DisruptionTarget"]
        assert (reasons, found["metadata"]["deletionGracePeriodSeconds"]) == (["EvictionByEvictionAPI"], 5)
        assert stage.parts() == (4, 64)
        await there.until("big", is_gone)
        await stage.until(is_ready_to_unplug)
        assert stage.parts() == (4, 32)


def test_pods_leave_by_eviction_and_budgets_are_respected(tmp_path: Path) -> None:
    """Whoever would not fit goes with all its grace; parts go only when it is gone."""
    run(_evicts(tmp_path))


async def _stays(directory: Path) -> None:
    async with staged(directory, node(resize=REPLACED)) as stage:
        there = stage.there
        await there.create("big", {"a": STUBBORN}, {"labels": {"app": "big"}})
        await there.until("big", is_ready)
        await there.cluster.create(Ref(*BUDGETS), BUDGET)
        await stage.wish('{"memory":"4Gi"}')
        found = await stage.until(is_refused)
        assert (found["allocatable"], stage.parts()) == (WHOLE, (4, 64))
        assert await stage.message() == f"pods did not leave in time: {BLOCKED}"
        assert is_ready(await there.get("big"))


def test_a_budget_that_never_allows_it_ends_the_attempt(tmp_path: Path) -> None:
    run(_stays(tmp_path))


async def _drained(directory: Path) -> None:
    async with world(directory, node(STATIC)) as there:
        stage = Stage(there)
        for name in ("a", "b", "c"):
            await there.create(name, {"a": G1})
            await there.until(name, is_ready)
        for name in ("a", "b"):
            await there.cluster.delete(name)
            await there.until(name, is_gone)
        await stage.passes(5)
        uid = (await there.get("c") or {})["metadata"]["uid"]
        assert (stage.book(), stage.pinned(uid)) == (("0-2", {uid: {"a": "3"}}), "3")
        await stage.wish('{"cpu":"2"}')
        await stage.until(is_ready_to_unplug)
        assert (stage.book(), stage.pinned(uid)) == (("0", {uid: {"a": "1"}}), "1")
        assert ("ExclusiveCPUsReassigned", "Container a: exclusive CPUs 3→1") in await stage.told("c")
        assert (stage.parts()[0], is_ready(await there.get("c"))) == (2, True)
        await stage.wish(None)
        await stage.until(lambda found: found["reason"] == "Stable")
        assert (stage.book(), stage.pinned(uid)) == (("0,2-3", {uid: {"a": "1"}}), "1")


def test_containers_move_off_cpus_before_they_go(tmp_path: Path) -> None:
    """Static CPU manager: the container has other CPUs of its own before its old ones are offline."""
    run(_drained(tmp_path))


NUMA: Final = {
    "evictionHard": {"memory.available": "0%"},
    "memoryManagerPolicy": "Static",
    "reservedMemory": [{"numaNode": node, "limits": {"memory": "512Mi"}} for node in (0, 1)],
    "kubeReserved": {"memory": "1Gi"},
}


async def _on_nodes(directory: Path) -> None:
    host = SimHost("0-3", 8 * GIB, numa=("0-1", "2-3"))
    async with world(directory, NodeOptions(hardware=host, config=NUMA, resize=RESIZE)) as there:
        stage = Stage(there)
        uids = {}
        for name, size in (("left", "100m,1Gi"), ("right", "100m,3Gi")):
            uids[name] = await there.create(name, {"a": amounts(size, size)})
            await there.until(name, is_ready)
        mems = {name: there.node.pod_cgroups(uid)["a"]["cpuset.mems"] for name, uid in uids.items()}
        assert mems == {"left": "0", "right": "1"}
        await stage.wish('{"memory":"6Gi"}')
        await there.until("right", is_gone)
        await stage.until(is_ready_to_unplug)
        assert host.nodes == {0: 4 * GIB, 1: 2 * GIB}
        assert not {"NodeCapacityExceeded", "OutOfmemory"} & {reason for reason, _ in await stage.told("right")}
        assert is_ready(await there.get("left"))


def test_who_is_bound_to_memory_that_goes_is_evicted_not_ended(tmp_path: Path) -> None:
    """There is room for all, but not on the NUMA node that loses it."""
    run(_on_nodes(tmp_path))


async def _hungry(directory: Path) -> None:
    async with staged(directory) as stage:
        there = stage.there
        await there.create("hungry", {"a": amounts("100m,512Mi")})
        uid = (await there.until("hungry", is_ready))["metadata"]["uid"]
        cgroup = there.node.sim.kernel.machine.cgroups[there.node.containers(uid)["a"].cgroup]
        cgroup.shmem = 5 * GIB
        await stage.wish('{"memory":"4Gi"}')
        await stage.passes(30)
        assert (there.node.cgroup("kubepods")["memory.high"], stage.parts()) == (str(3 * GIB), (4, 64))
        found = await stage.until(is_refused, 120)
        assert (found["allocatable"], stage.parts()) == (WHOLE, (4, 64))
        assert await stage.message() == "pods use 5Gi of memory, and 3Gi would be left for them"
        assert there.node.cgroup("kubepods")["memory.high"] == "max"
        await stage.wish('{"memory": "4Gi"}')
        await stage.passes(30)
        cgroup.shmem = GIB
        await stage.until(is_ready_to_unplug)
        assert there.node.cgroup("kubepods")["memory.high"] == "max"
        hungry = await there.get("hungry") or {}
        assert [each["restartCount"] for each in hungry["status"]["containerStatuses"]] == [0]


def test_memory_that_pods_use_is_not_taken_from_them(tmp_path: Path) -> None:
    """They are squeezed for a while, and if that does not help the memory stays; nobody is killed."""
    run(_hungry(tmp_path))
