"""The cgroups above the pods: held to the machine, capped, weighed by pods, and written only if they differ."""

import asyncio

import pytest
from tests import pods
from tests.engine.fakes import FakeClock

from flexlet.adapters.sim.machine import Machine
from flexlet.adapters.sim.runtime import SimNode
from flexlet.core.cgroups.settings import DEFAULTS
from flexlet.core.hotplug.view import UNPINNED
from flexlet.engine.agent.tree import PodTree
from flexlet.errors import HostError


class Stage:
    """A kernel, and what was written to it since the last look."""

    def __init__(self) -> None:
        self.sim = SimNode(FakeClock(), machine=Machine(memory_total=8 << 30, cpus="0-3"))
        self.tree = PodTree(self.sim.cgroups, "cgroupfs", DEFAULTS)
        self._seen = 0

    def written(self) -> list[tuple[str, dict[str, str]]]:
        calls = self.sim.trouble.called("write")
        found, self._seen = calls[self._seen :], len(calls)
        return [(path, dict(files)) for path, files in found]

    def file(self, name: str, path: str = "kubepods") -> str:
        return self.sim.kernel.machine.cgroups[path].files[name]


async def made() -> Stage:
    stage = Stage()
    await stage.tree.make()
    return stage


def test_files_that_are_not_named_keep_what_they_had() -> None:
    async def tale() -> None:
        stage = await made()
        await stage.tree.hold({"memory.max": "4096", "cpu.weight": "118"})
        await stage.tree.hold({"memory.high": "8192"})
        await stage.tree.hold({"memory.high": "8192", "cpu.weight": "118"})
        assert stage.written() == [
            ("kubepods", {"memory.max": "4096", "cpu.weight": "118"}),
            ("kubepods", {"memory.high": "8192"}),
        ]

    asyncio.run(tale())


def test_a_cap_is_kept_whatever_the_machine_would_allow_and_opened_again() -> None:
    async def tale() -> None:
        stage = await made()
        await stage.tree.hold({"memory.max": "8192"})
        await stage.tree.cap({"memory.max": "4096", "cpu.max": "50000 100000"})
        await stage.tree.hold({"memory.max": "16384"})
        assert (stage.file("memory.max"), stage.file("cpu.max")) == ("4096", "50000 100000")
        await stage.tree.cap({})
        assert (stage.file("memory.max"), stage.file("cpu.max")) == ("16384", "max 100000")

    asyncio.run(tale())


def test_what_could_not_be_written_is_written_the_next_time() -> None:
    """By whoever comes next: another size, or the upkeep that makes the tree again."""

    async def tale() -> None:
        stage = await made()
        stage.sim.trouble.fail("write", HostError("no"))
        with pytest.raises(HostError, match="no"):
            await stage.tree.hold({"memory.max": "4096"})
        await stage.tree.make()
        assert stage.file("memory.max") == "4096"

    asyncio.run(tale())


def test_a_tree_that_somebody_removed_comes_back_with_its_values() -> None:
    async def tale() -> None:
        stage = await made()
        await stage.tree.hold({"memory.max": "4096"})
        await stage.tree.pods([])
        for path in ("kubepods/burstable", "kubepods/besteffort", "kubepods"):
            stage.sim.kernel.machine.rmdir(path)
        await stage.tree.make()
        await stage.tree.pods([])
        assert (stage.file("memory.max"), stage.file("cpu.weight", "kubepods/besteffort")) == ("4096", "1")

    asyncio.run(tale())


def test_tiers_are_weighed_by_their_pods_and_leave_the_node_alone() -> None:
    """Without a word about the weight of all pods, which is the machine's."""

    async def tale() -> None:
        stage = await made()
        await stage.tree.hold({"cpu.weight": "118"}, [2 << 20])
        stage.written()
        await stage.tree.pods([pods.pod(pods.container("c", "2,1Gi"))])
        assert (stage.file("cpu.weight"), stage.file("cpu.weight", "kubepods/burstable")) == ("118", "79")
        assert all("cpu.weight" not in files for path, files in stage.written() if path == "kubepods")
        await stage.tree.pods([pods.pod(pods.container("c", "2,1Gi"))])
        assert stage.written() == []

    asyncio.run(tale())


def test_a_pin_goes_where_nobody_runs_and_is_widened_where_somebody_does() -> None:
    """The kernel takes no pin from a cgroup with processes below it."""

    async def tale() -> None:
        stage = await made()
        await stage.tree.hold({"cpuset.cpus": UNPINNED})
        assert [files for _, files in stage.written() if "cpuset.cpus" in files] == []
        stage.sim.kernel.machine.cgroups["kubepods"].files["cpuset.cpus"] = "0-1"
        await stage.tree.hold({"cpuset.cpus": UNPINNED})
        assert stage.file("cpuset.cpus") == "0-3"
        stage.sim.kernel.machine.cpus = "0-7"
        await stage.tree.hold({"cpuset.cpus": UNPINNED})
        assert stage.file("cpuset.cpus") == "0-7"

    asyncio.run(tale())


def test_what_all_pods_use_is_the_kernels_word() -> None:
    async def tale() -> None:
        stage = await made()
        stage.sim.kernel.machine.cgroups["kubepods"].shmem = 4096
        assert await stage.tree.used() == 4096

    asyncio.run(tale())


@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("kubepods", {"memory.max": "max", "pids.max": "7"}),
        ("kubepods/burstable", {"cpu.weight": "100"}),
        ("kubepods/besteffort", {"cpu.weight": "9"}),
    ],
)
def test_what_others_change_comes_back(path: str, files: dict[str, str]) -> None:
    """Whoever it was; and what nobody changed is not written again."""

    async def tale() -> None:
        stage = await made()
        await stage.tree.hold({"memory.max": "8000000", "pids.max": "100", "cpu.weight": "118"})
        await stage.tree.pods([pods.pod(pods.container("a", "2,1Gi"))])
        before = {name: stage.file(name, path) for name in files}
        await stage.tree.make()
        stage.written()
        await stage.sim.cgroups.write(path, files)
        assert {name: stage.file(name, path) for name in files} == files
        stage.written()
        await stage.tree.make()
        assert {name: stage.file(name, path) for name in files} == before
        assert [(where, set(what)) for where, what in stage.written()] == [(path, set(files))]
        await stage.tree.make()
        assert stage.written() == []

    asyncio.run(tale())


def test_a_tier_that_was_removed_gets_its_weight_back() -> None:
    async def tale() -> None:
        stage = await made()
        await stage.tree.pods([pods.pod(pods.container("a", "2,1Gi"))])
        weight = stage.file("cpu.weight", "kubepods/burstable")
        await stage.sim.cgroups.remove("kubepods/burstable")
        await stage.tree.make()
        assert stage.file("cpu.weight", "kubepods/burstable") == weight != "100"

    asyncio.run(tale())


def test_agents_that_share_a_host_do_not_undo_each_others_work() -> None:
    """Of the cgroups that they have in common the last word counts, as long as nobody has anything new to say."""

    async def tale() -> None:
        stage = Stage()
        one, other = (PodTree(stage.sim.cgroups, "cgroupfs", DEFAULTS, is_shared=True) for _ in range(2))
        await one.make()
        await one.hold({"memory.max": "4096"})
        await other.hold({"memory.max": "8192"})
        stage.written()
        await one.make()
        await other.make()
        assert (stage.file("memory.max"), stage.written()) == ("8192", [])

    asyncio.run(tale())
