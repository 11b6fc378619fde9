"""CPUs of their own for those who ask for whole ones, on a whole simulated node."""

import asyncio
from pathlib import Path
from typing import Final

import msgspec
import pytest
from tests.engine.agent.deaths import Story, every_death
from tests.engine.agent.managed import G1, G2, NODE, SHARED, STATIC, book, cpus, is_failed, settled, told
from tests.engine.agent.world import World, amounts, is_gone, is_ready, pod, world

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.cpu import files as cpu_files
from flexlet.core.managers.files import CPU_FILE
from flexlet.core.managers.state import CpuState
from flexlet.errors import ConfigError, HostError, RuntimeFault
from flexlet.testing import run


async def _live(directory: Path) -> None:
    async with world(directory, NODE) as there:
        shared = await there.create("shared", {"a": SHARED})
        await there.until("shared", is_ready)
        assert cpus(there, shared) == {
            ".": ("", "20000 100000"),
            "a": ("0-3", "20000 100000"),
            "sandbox": ("", "max 100000"),
        }
        own = await there.create("own", {"a": G2, "b": amounts("200m,32Mi", "200m,32Mi")})
        await there.until("own", is_ready)
        assert cpus(there, own) == {
            ".": ("", "max 100000"),
            "a": ("1-2", "max 100000"),
            "b": ("0,3", "20000 100000"),
            "sandbox": ("", "max 100000"),
        }
        assert cpus(there, shared)["a"] == ("0,3", "20000 100000")
        assert book(there) == ("0,3", {own: {"a": "1-2"}})
        await there.create("more", {"a": G2})
        refused = await there.until("more", is_failed)
        why = "not enough cpus available to satisfy request: requested=2, available=1"
        text = f"Allocate failed due to {why}, which is unexpected"
        status = refused["status"]
        assert (status["reason"], status["message"]) == ("UnexpectedAdmissionError", f"Pod was rejected: {text}")
        assert await told(there, "more") == [("Warning", "UnexpectedAdmissionError", text)]
        assert book(there) == ("0,3", {own: {"a": "1-2"}})
        await there.cluster.delete("own")
        await there.until("own", is_gone)
        await settled()
        assert cpus(there, shared)["a"] == ("0-3", "20000 100000")
        assert book(there) == ("0-3", {})


def test_whole_cpus_are_taken_from_the_shared_ones_and_given_back(tmp_path: Path) -> None:
    run(_live(tmp_path))


async def _begin(there: World, name: str) -> None:
    await there.create(name, {"a": G1, "b": G1})


async def _end(there: World, name: str) -> None:
    await there.cluster.delete(name)


STORIES: Final = {
    "start": Story(_begin, is_ready, options=NODE, begins=True),
    "stop": Story(_end, is_gone, G1, options=NODE),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STORIES)
def test_death_after_any_deed_leaves_everybody_their_cpus(name: str, tmp_path: Path) -> None:
    """The next agent finds the same sets, however far the last one came."""
    expected, others, deaths = run(every_death(tmp_path, STORIES[name]))
    assert others == {}
    assert deaths > 5
    found = {key: each["cpuset.cpus"] for key, each in expected["cgroups"].items()}
    assert found == ({} if name == "stop" else {".": "", "a": "1", "b": "2", "sandbox": ""})


async def _restarts(directory: Path) -> None:
    async with world(directory, NODE) as there:
        shared = await there.create("shared", {"a": SHARED})
        own = await there.create("own", {"a": G2})
        await there.until("own", is_ready)
        before, updates = book(there), len(there.node.sim.trouble.called("update_container"))
        await there.node.restart()
        await settled()
        assert (book(there), cpus(there, own)["a"][0], cpus(there, shared)["a"][0]) == (before, "1-2", "0,3")
        assert len(there.node.sim.trouble.called("update_container")) == updates
        await there.create("next", {"a": G1})
        await there.until("next", is_failed)


def test_a_restart_touches_nobody(tmp_path: Path) -> None:
    run(_restarts(tmp_path))


async def _lost(directory: Path, file: bytes | None) -> World:
    async with world(directory, NODE) as there:
        shared = await there.create("shared", {"a": SHARED})
        first = await there.create("first", {"a": G1})
        await there.until("first", is_ready)
        second = await there.create("second", {"a": G1})
        await there.until("second", is_ready)
        await there.cluster.delete("first")
        await there.until("first", is_gone)
        await there.node.kill()
        files = there.node.checkpoints.files
        before = files.pop(CPU_FILE)
        if file is not None:
            files[CPU_FILE] = file
        await there.node.start()
        await settled()
        assert cpus(there, second)["a"][0] == "2"
        assert cpus(there, shared)["a"][0] == "0-1,3"
        assert files[CPU_FILE] == before
        assert files.get(f"{CPU_FILE}.bad") == file
        assert first not in book(there)[1]
    return there


def test_a_lost_file_is_made_again_from_what_runs(tmp_path: Path) -> None:
    """Not as if everybody came in again: who has a CPU keeps it."""
    run(_lost(tmp_path, None))


def test_a_spoiled_file_is_kept_beside(tmp_path: Path) -> None:
    run(_lost(tmp_path, b'{"policyName":"static","defaultCpuSet":"0-3","checksum":1}'))


async def _taken_over(directory: Path) -> None:
    """A kubelet of 1.36 ran here; what it left is what its successor goes on with, in the same form."""
    async with world(directory, NODE) as there:
        own = await there.create("own", {"a": G2})
        await there.until("own", is_ready)
        await there.node.kill()
        state = CpuState(policy="static", shared=CpuSet.parse("0,3"), entries={own: {"a": CpuSet.parse("1-2")}})
        kubelets = cpu_files.write(state, 2).encode()
        there.node.checkpoints.files[CPU_FILE] = kubelets
        await there.node.start()
        await settled()
        assert there.node.checkpoints.files[CPU_FILE] == kubelets
        shared = await there.create("shared", {"a": SHARED})
        await there.until("shared", is_ready)
        assert (cpus(there, own)["a"][0], cpus(there, shared)["a"][0]) == ("1-2", "0,3")


def test_a_kubelets_file_is_taken_over(tmp_path: Path) -> None:
    run(_taken_over(tmp_path))


async def _unplugged(directory: Path) -> None:
    async with world(directory, NODE) as there:
        own = await there.create("own", {"a": G2})
        shared = await there.create("shared", {"a": SHARED})
        await there.until("shared", is_ready)
        await there.node.kill()
        await asyncio.sleep(1)
        there.node.host.cpus = there.node.sim.kernel.machine.cpus = "0-1,3"
        await there.node.start()
        await settled()
        assert (cpus(there, own)["a"][0], cpus(there, shared)["a"][0]) == ("1,3", "0")
        assert book(there) == ("0", {own: {"a": "1,3"}})
        assert ("Normal", "ExclusiveCPUsReassigned", REASSIGNED) in await told(there, "own")


REASSIGNED: Final = "Container a: exclusive CPUs 1-2→1,3"


def test_a_cpu_that_went_while_nobody_looked_is_replaced(tmp_path: Path) -> None:
    run(_unplugged(tmp_path))


async def _plugged(directory: Path) -> None:
    async with world(directory, NODE) as there:
        own = await there.create("own", {"a": G2})
        shared = await there.create("shared", {"a": SHARED})
        await there.until("shared", is_ready)
        await there.node.kill()
        there.node.host.cpus = there.node.sim.kernel.machine.cpus = "0-7"
        await there.node.start()
        await settled()
        assert (cpus(there, own)["a"][0], cpus(there, shared)["a"][0]) == ("1-2", "0,3-7")


def test_cpus_that_came_while_nobody_looked_are_shared(tmp_path: Path) -> None:
    """Where a kubelet refuses to start."""
    run(_plugged(tmp_path))


async def _switched(directory: Path) -> None:
    options = msgspec.structs.replace(NODE, config={**STATIC, "cpuManagerPolicy": "none"})
    async with world(directory, options) as there:
        own = await there.create("own", {"a": G2})
        shared = await there.create("shared", {"a": SHARED})
        await there.until("shared", is_ready)
        assert cpus(there, own)["a"] == ("", "200000 100000")
        await there.node.restart(cpuManagerPolicy="static")
        await settled()
        assert cpus(there, own) == {
            ".": ("", "max 100000"),
            "a": ("1-2", "max 100000"),
            "sandbox": ("", "max 100000"),
        }
        assert cpus(there, shared)["a"] == ("0,3", "20000 100000")


def test_the_policy_can_be_switched_on_under_running_pods(tmp_path: Path) -> None:
    run(_switched(tmp_path))


async def _swapped(directory: Path) -> None:
    """Whoever changes the books need do nothing else: the containers follow."""
    async with world(directory, NODE) as there:
        own = await there.create("own", {"a": G2})
        shared = await there.create("shared", {"a": SHARED})
        await there.until("shared", is_ready)
        agent = there.node.agent
        assert agent is not None
        books = agent.loop.world.managers
        cpu = msgspec.structs.replace(
            books.cpu, shared=CpuSet.parse("0,2"), entries={own: {"a": CpuSet.parse("1,3")}}
        )
        calls = there.node.sim.trouble.called("update_container")
        agent.loop.tell(lambda world: world.managed(msgspec.structs.replace(books, cpu=cpu)))
        before = len(calls)
        await settled()
        assert (cpus(there, own)["a"][0], cpus(there, shared)["a"][0]) == ("1,3", "0,2")
        assert book(there) == ("0,2", {own: {"a": "1,3"}})
        sets = [given.cpuset_cpus for _, given in there.node.sim.trouble.called("update_container")[before:]]
        assert sets == ["1", "0", "1,3", "0,2"]


def test_containers_follow_the_books_and_nobody_meets_on_a_cpu(tmp_path: Path) -> None:
    run(_swapped(tmp_path))


async def _refused(directory: Path) -> None:
    async with world(directory, NODE) as there:
        shared = await there.create("shared", {"a": SHARED})
        await there.until("shared", is_ready)
        there.node.sim.trouble.fail("update_container", RuntimeFault("busy"))
        own = await there.create("own", {"a": G2})
        await there.until("own", is_ready)
        assert (cpus(there, own)["a"][0], cpus(there, shared)["a"][0]) == ("1-2", "0-3")
        await settled(20)
        assert cpus(there, shared)["a"][0] == "0,3"


def test_a_runtime_that_refuses_is_asked_again_and_holds_nobody_up(tmp_path: Path) -> None:
    run(_refused(tmp_path))


async def _unwritten(directory: Path) -> None:
    """Nothing of a place is used before it is on disk."""
    async with world(directory, NODE) as there:
        files, save = there.node.checkpoints, there.node.checkpoints.save

        async def full(name: str, data: bytes) -> None:
            if name == CPU_FILE:
                raise HostError(f"cannot write {name}: No space left on device; the old content still holds")
            await save(name, data)

        files.save = full  # type: ignore[method-assign]
        own = await there.create("own", {"a": G2})
        await settled(5)
        assert (there.node.containers(own), book(there)) == ({}, ("0-3", {}))
        files.save = save  # type: ignore[method-assign]
        await there.until("own", is_ready)
        assert (cpus(there, own)["a"][0], book(there)) == ("1-2", ("0,3", {own: {"a": "1-2"}}))


def test_a_full_disk_keeps_pods_waiting(tmp_path: Path) -> None:
    run(_unwritten(tmp_path))


async def _impossible(directory: Path) -> None:
    options = msgspec.structs.replace(NODE, config={"cpuManagerPolicy": "static", "reservedSystemCPUs": "0,9"})
    async with world(directory, options):
        pass


def test_settings_that_cannot_work_here_aretold_at_once(tmp_path: Path) -> None:
    with pytest.raises(ExceptionGroup) as failed:
        run(_impossible(tmp_path))
    (error,) = failed.value.exceptions
    assert isinstance(error, ConfigError)
    assert "reserved-cpus: 0,9 is not a subset of online-cpus: 0-3" in str(error)


async def _deaf(directory: Path) -> None:
    async with world(directory, NODE) as there:
        own = await there.create("own", {"a": G2})
        await there.until("own", is_ready)
        manifest = {"apiVersion": "v1", "kind": "Pod", **pod("static", {"a": G1})}
        await there.node.kill()
        there.node.manifests.write("static.yaml", manifest)
        there.node.reach.is_away = True
        await there.node.start()
        await settled(15)
        shared, entries = book(there)
        assert (shared, entries.pop(own), [each["a"] for each in entries.values()]) == ("0", {"a": "1-2"}, ["3"])
        there.node.reach.is_away = False
        await settled(15)
        assert book(there)[1] == {own: {"a": "1-2"}} | entries
        await there.cluster.delete("own")
        await there.until("own", is_gone)
        await settled()
        assert book(there) == ("0-2", entries)


def test_static_pods_that_go_ahead_take_nobodys_cpus(tmp_path: Path) -> None:
    """The API does not answer yet: who is in the file counts as there."""
    run(_deaf(tmp_path))
