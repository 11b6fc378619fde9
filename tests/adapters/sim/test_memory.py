"""Limits on memory are kept the way the kernel keeps them."""

import pytest
from msgspec.structs import replace
from tests.adapters.sim.stage import PLENTY, Stage

from flexlet.adapters.sim.processes import Body, Charge, Process, Sleep, Start
from flexlet.adapters.sim.programs import Program
from flexlet.api.units import Bytes
from flexlet.core.runtime.configs import Mount
from flexlet.errors import HostBusy, RuntimeFault

MIB = 1 << 20
SMALL = replace(PLENTY, memory_limit=Bytes(32 * MIB))
GROUPED = replace(SMALL, unified={"memory.oom.group": "1"})
TMPFS = (Mount(container_path="/m", host_path="/pods/u1/volumes/kubernetes.io~empty-dir/m"),)


async def test_a_killed_child_takes_the_container_with_it(stage: Stage) -> None:
    """That is what memory.oom.group asks for; the reason is the container's, whoever was too large."""
    container_id = await stage.sh("trap '' TERM; tail /dev/zero; echo child gone; sleep 1000", resources=GROUPED)
    assert await stage.end(container_id) == ("EXITED", 137, "OOMKilled", 0.0)
    assert stage.printed() == ""


async def test_without_the_group_only_the_largest_dies(stage: Stage) -> None:
    container_id = await stage.sh("tail /dev/zero; echo child gone; sleep 1000", resources=SMALL)
    assert (await stage.shown(container_id)).state == "RUNNING"
    assert stage.printed() == "child gone"
    assert (await stage.shown(container_id)).reason == "OOMKilled"


async def test_a_sibling_is_not_affected(stage: Stage) -> None:
    sibling = await stage.sh("sleep 1000", name="a")
    await stage.sh("sleep 2; tail /dev/zero", name="b", resources=GROUPED)
    stage.clock.advance(3)
    states = {each.name: each.reason for each in (await stage.runtime.inspect("u1")).containers}
    assert states == {"a": "", "b": "OOMKilled"}
    assert (await stage.shown(sibling)).state == "RUNNING"


async def test_files_in_memory_count_and_stay(stage: Stage) -> None:
    """They are charged to whoever wrote them, and to the pod when that is gone."""
    script = "dd if=/dev/zero of=/m/x bs=1M count=16; sleep 5"
    container_id = await stage.sh(script, mounts=TMPFS, resources=SMALL)
    tree, pod = stage.node.cgroups, "kubepods/podu1"
    used = {"memory.current": str(16 * MIB)}
    assert await tree.read(f"{pod}/{container_id}", ("memory.current",)) == used
    stage.clock.advance(6)
    assert not await tree.exists(f"{pod}/{container_id}")
    assert await tree.read(pod, ("memory.current",)) == used


async def test_cache_is_dropped_before_anybody_dies(stage: Stage) -> None:
    container_id = await stage.sh("dd if=/dev/zero of=/tmp/x bs=1M count=100; sleep 1000", resources=SMALL)
    path = f"kubepods/podu1/{container_id}"
    assert await stage.node.cgroups.read(path, ("memory.current",)) == {"memory.current": str(32 * MIB)}
    await stage.runtime.update_container(container_id, replace(SMALL, memory_limit=Bytes(8 * MIB)))
    assert await stage.node.cgroups.read(path, ("memory.current",)) == {"memory.current": str(8 * MIB)}
    assert (await stage.shown(container_id)).state == "RUNNING"


async def test_a_limit_below_usage_kills(stage: Stage) -> None:
    stage.node.programs.by_name["c"] = Program(memory=20 * MIB)
    container_id = await stage.start(resources=SMALL)
    await stage.runtime.update_container(container_id, replace(SMALL, memory_limit=Bytes(16 * MIB)))
    assert await stage.end(container_id) == ("EXITED", 137, "OOMKilled", 0.0)


async def test_a_kernel_may_be_told_to_refuse_instead(stage: Stage) -> None:
    """For stories in which lowering a limit fails: neither the limit nor what is remembered changes."""
    stage.node.kernel.refuses_below_usage = True
    stage.node.programs.by_name["c"] = Program(memory=20 * MIB)
    container_id = await stage.start(resources=SMALL)
    path = f"kubepods/podu1/{container_id}"
    lower = {"memory.max": str(16 * MIB)}
    with pytest.raises(HostBusy, match=f"{path}/memory.max: Device or resource busy"):
        await stage.node.cgroups.write(path, lower)
    with pytest.raises(RuntimeFault, match="Device or resource busy"):
        await stage.runtime.update_container(container_id, replace(SMALL, memory_limit=Bytes(16 * MIB)))
    assert await stage.node.cgroups.read(path, ("memory.max",)) == {"memory.max": str(32 * MIB)}
    assert (await stage.shown(container_id)).resources == SMALL


async def test_the_machine_itself_can_run_out(stage: Stage) -> None:
    """Then the kernel looks at all processes, and the score decides between those of like size."""
    stage.node.kernel.machine.memory_total = 100 * MIB
    await stage.runtime.overview()
    stage.node.programs.by_name |= {"a": Program(memory=40 * MIB), "b": Program(memory=40 * MIB)}
    safe = await stage.start(name="a", resources=replace(PLENTY, oom_score_adj=-997))
    first = await stage.start(name="b", resources=replace(PLENTY, oom_score_adj=1000))
    stage.node.kernel.spawn(hog(30 * MIB), "kubepods")
    assert [(await stage.shown(each)).reason for each in (safe, first)] == ["", "OOMKilled"]


def hog(size: int) -> Start:
    def body(_: Process) -> Body:
        yield Charge(size)
        yield Sleep()
        return 0

    return body


async def test_a_process_that_cannot_be_killed_holds_its_cgroup(stage: Stage) -> None:
    container_id = await stage.start()
    (pid,) = await stage.node.cgroups.processes(f"kubepods/podu1/{container_id}")
    stage.node.kernel.machine.processes[pid].unkillable = True
    with pytest.raises(HostBusy, match=rf"processes \[{pid}\] are still in it after 5 kills"):
        await stage.node.cgroups.remove("kubepods/podu1")
    stage.node.kernel.machine.processes[pid].unkillable = False
    await stage.node.cgroups.remove("kubepods/podu1")
    assert await stage.end(container_id) == ("EXITED", 137, "Error", 0.0)
