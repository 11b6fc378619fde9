"""What fails on the way to another size is tried again, and nobody is left with half of it."""

import asyncio
import itertools
from pathlib import Path
from typing import Any, Final

import pytest
from tests.engine.agent.resizing import rig
from tests.engine.agent.world import World, amounts, is_ready, pod, world

from flexlet.api.units import GIB, MIB
from flexlet.core.hotplug import saved
from flexlet.core.managers.files import CPU_FILE
from flexlet.errors import HostError
from flexlet.testing import idle, run
from flexlet.testing.host import SimHost

Json = dict[str, Any]

B: Final = amounts("500m,2Gi", "1,4Gi")
FIRST: Final = ("7516192768", "max", 750, "1073741824")
"""Of a node of 8Gi: the limits around all pods, and the score and swap of B."""
SMALL: Final = ("3221225472", "max", 500, "2147483648")


class Disk:
    """Checkpoints that refuse some writes; `at` is when they did."""

    def __init__(self, there: World) -> None:
        self.full: dict[str, int] = {}
        """How many more writes of a file fail, after those in `spared` went well."""
        self.spared: dict[str, int] = {}
        self.at: list[float] = []
        self._save = there.node.checkpoints.save
        there.node.checkpoints.save = self.save  # type: ignore[method-assign]

    async def save(self, name: str, data: bytes) -> None:
        if self.spared.get(name, 0):
            self.spared[name] -= 1
        elif self.full.get(name, 0):
            self.full[name] -= 1
            self.at.append(asyncio.get_running_loop().time())
            raise rig.full(name)
        await self._save(name, data)


class Kernel:
    """Cgroups of which some files cannot be written, so many times."""

    def __init__(self, there: World) -> None:
        self.refuses: dict[str, int] = {}
        self._write = there.node.sim.kernel.write
        there.node.sim.kernel.write = self.write  # type: ignore[method-assign]

    def write(self, path: str, name: str, text: str) -> None:
        if path == rig.KUBEPODS and self.refuses.get(name, 0):
            self.refuses[name] -= 1
            raise HostError(f"cannot write {text} to {path}/{name}: Input/output error")
        self._write(path, name, text)


async def inhabited(there: World) -> str:
    uid = await there.create("b", {"a": B})
    await there.until("b", is_ready)
    return uid


def host(there: World) -> SimHost:
    assert there.node.options.hardware is not None
    return there.node.options.hardware


def values(there: World, uid: str) -> tuple[str, str, int, str]:
    around, swap = there.node.cgroup(rig.KUBEPODS), there.node.pod_cgroups(uid)["a"]["memory.swap.max"]
    return around["memory.max"], around["memory.high"], there.node.oom_scores(uid)["a"], swap


async def shown(there: World) -> tuple[str, str]:
    found = await rig.node(there)
    return found["status"]["capacity"]["memory"], rig.condition(found)["reason"]


def number(there: World) -> int:
    kept = rig.generations(there)
    assert kept is not None
    return kept.generation.number


def gaps(times: list[float]) -> list[int]:
    return [round(later - earlier) for earlier, later in itertools.pairwise(times)]


def test_it_is_tried_again_ever_more_seldom(tmp_path: Path) -> None:
    """After a second, then twice as long each time, at most a minute; meanwhile the node has the size it had."""

    async def tale() -> None:
        async with world(tmp_path, rig.machine()) as there:
            uid, disk = await inhabited(there), Disk(there)
            disk.full[saved.FILE] = 9
            host(there).plug_memory(8 * GIB)
            await asyncio.sleep(150)
            assert (await shown(there), values(there, uid)) == (("8Gi", "Failed"), FIRST)
            await rig.rested(there)
            assert gaps(disk.at) == [1, 2, 4, 8, 16, 32, 60, 60]
            assert (await shown(there), number(there)) == (("16Gi", "Stable"), 2)
            told = [each["reason"] for each in await there.cluster.events()]
            assert (told.count("FailedNodeResize"), told.count("NodeResized")) == (1, 1)

    run(tale())


def test_a_newer_size_does_not_wait_for_the_older_one(tmp_path: Path) -> None:
    async def tale() -> None:
        async with world(tmp_path, rig.machine()) as there:
            uid, disk = await inhabited(there), Disk(there)
            disk.full[saved.FILE] = 6
            host(there).plug_memory(8 * GIB)
            await asyncio.sleep(40)
            assert (await shown(there), disk.full) == (("8Gi", "Failed"), {saved.FILE: 0})
            host(there).unplug_memory(12 * GIB)
            await asyncio.sleep(10)
            assert (await shown(there), values(there, uid)) == (("4Gi", "Stable"), SMALL)

    run(tale())


@pytest.mark.parametrize(
    ("config", "file", "spared"), [(rig.CONFIG, saved.FILE, 1), (rig.STATIC, CPU_FILE, 0)], ids=["own", "books"]
)
@pytest.mark.parametrize("dies", [False, True])
def test_what_was_begun_and_given_up_is_taken_back(
    config: Json, file: str, spared: int, *, dies: bool, tmp_path: Path
) -> None:
    """8Gi, then 4Gi, which cannot be published; then 8Gi again, with the same agent or the next one."""

    async def tale() -> None:
        async with world(tmp_path, rig.machine(config=config)) as there:
            uid, disk = await inhabited(there), Disk(there)
            disk.full[file], disk.spared[file] = 1000, spared
            host(there).unplug_memory(4 * GIB)
            host(there).unplug_cpus([3])
            await asyncio.sleep(20)
            assert values(there, uid) == ("7516192768", "3221225472", 500, "2147483648"), "squeezed, and no more"
            assert await shown(there) == ("8Gi", "Failed")
            await there.node.kill() if dies else None
            host(there).plug_memory(4 * GIB)
            host(there).plug_cpus([3])
            disk.full.clear()
            await there.node.start() if dies else None
            await asyncio.sleep(60)
            await rig.rested(there)
            assert (await shown(there), values(there, uid), number(there)) == (("8Gi", "Stable"), FIRST, 1)

    run(tale())


def test_an_end_that_cannot_be_written_is_no_end(tmp_path: Path) -> None:
    """Everything is done but for the last line in the file: the node says so until that is there."""

    async def tale() -> None:
        async with world(tmp_path, rig.machine()) as there:
            uid, disk = await inhabited(there), Disk(there)
            disk.full[saved.FILE], disk.spared[saved.FILE] = 3, 2
            host(there).unplug_memory(4 * GIB)
            await asyncio.sleep(4)
            assert (await shown(there))[1] == "Failed"
            await asyncio.sleep(20)
            assert (await shown(there), number(there), disk.full) == (("4Gi", "Stable"), 2, {saved.FILE: 0})
            assert (values(there, uid), rig.size(await rig.node(there))["taints"]) == (SMALL, [])

    run(tale())


def test_what_fails_after_the_size_counts_is_done_for_that_size(tmp_path: Path) -> None:
    """The last limit cannot be written: still the second generation, taken up again until it is."""

    async def tale() -> None:
        async with world(tmp_path, rig.machine()) as there:
            uid, kernel = await inhabited(there), Kernel(there)
            kernel.refuses["memory.max"] = 2
            host(there).unplug_memory(4 * GIB)
            await asyncio.sleep(1.2)
            assert await shown(there) == ("4Gi", "Failed")
            await asyncio.sleep(20)
            assert (await shown(there), values(there, uid), number(there)) == (("4Gi", "Stable"), SMALL, 2)

    run(tale())


@pytest.mark.parametrize("dies", [False, True])
def test_a_container_that_was_just_starting_has_the_values_of_the_new_size(*, dies: bool, tmp_path: Path) -> None:
    """It was told to start on a node of 8Gi, and the node grew before it ran."""

    async def tale() -> None:
        async with world(tmp_path, rig.machine()) as there:
            runtime = there.node.sim.runtime
            start = runtime.start_container

            async def slowly(container_id: str) -> None:
                await asyncio.sleep(5)
                await start(container_id)

            runtime.start_container = slowly  # type: ignore[method-assign]
            uid = await there.create("b", {"a": B})
            await asyncio.sleep(1)
            host(there).plug_memory(8 * GIB)
            await asyncio.sleep(6)
            assert (number(there), values(there, uid)[2:]) == (2, FIRST[2:])
            await there.node.restart() if dies else None
            await asyncio.sleep(15)
            assert values(there, uid) == ("16106127360", "max", 875, "536870912")
            kept = rig.generations(there)
            assert kept is not None
            assert kept.worn == ()

    run(tale())


def test_a_container_that_refuses_is_asked_by_the_next_agent_too(tmp_path: Path) -> None:
    async def tale() -> None:
        async with world(tmp_path, rig.machine()) as there:
            uid = await inhabited(there)
            write = there.node.sim.kernel.write

            def refuse(path: str, name: str, text: str) -> None:
                if name == "memory.swap.max":
                    raise HostError(f"cannot write {text} to {path}/{name}: Input/output error")
                write(path, name, text)

            there.node.sim.kernel.write = refuse  # type: ignore[method-assign]
            host(there).plug_memory(8 * GIB)
            await asyncio.sleep(3)
            assert (await shown(there), values(there, uid)[2:]) == (("16Gi", "Stable"), FIRST[2:])
            there.node.sim.kernel.write = write  # type: ignore[method-assign]
            await there.node.restart()
            await asyncio.sleep(15)
            assert values(there, uid) == ("16106127360", "max", 875, "536870912")

    run(tale())


async def _critical(there: World) -> str:
    """A static pod that uses 100Mi."""
    manifest = {"apiVersion": "v1", "kind": "Pod"} | pod("etcd", {"a": amounts("100m,512Mi", "")})
    there.node.manifests.write("/m/etcd.yaml", manifest)
    await there.until("etcd-node-a", is_ready)
    agent = there.node.agent
    assert agent is not None
    (uid,) = agent.loop.world.pods
    for each in there.node.containers(uid).values():
        there.node.sim.kernel.machine.processes[each.pid].anon = 100 * MIB
    return str(uid)


def test_a_node_below_its_reservations_stays_so_when_its_agent_is_started_again(tmp_path: Path) -> None:
    """The reason stands in the condition, and the kernel has none to kill who is critical."""

    async def tale() -> None:
        async with world(tmp_path, rig.machine()) as there:
            uid = await _critical(there)
            before = rig.containers(there, uid)
            host(there).unplug_memory(7 * GIB)
            await asyncio.sleep(30)
            found = await shown(there), there.node.cgroup(rig.KUBEPODS)["memory.max"]
            assert found == (("1Gi", "BelowReserved"), str(164 * MIB))
            await there.node.restart()
            await asyncio.sleep(30)
            await idle()
            assert (await shown(there), there.node.cgroup(rig.KUBEPODS)["memory.max"]) == found
            assert rig.containers(there, uid) == before

    run(tale())


def test_a_reason_that_is_over_is_not_told_any_longer(tmp_path: Path) -> None:
    async def tale() -> None:
        async with world(tmp_path, rig.machine()) as there:
            await _critical(there)
            host(there).unplug_memory(6 * GIB + 512 * MIB)
            await asyncio.sleep(30)
            assert await shown(there) == ("1536Mi", "CriticalOverCapacity")
            there.node.manifests.remove("/m/etcd.yaml")
            await asyncio.sleep(30)
            assert await shown(there) == ("1536Mi", "Stable")

    run(tale())
