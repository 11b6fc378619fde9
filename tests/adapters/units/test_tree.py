"""Slices through systemd: what it knows stays, whatever it does to its units."""

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.adapters.units.fake_systemd import FakeSystemd
from tests.engine.fakes import FakeClock

from flexlet.adapters.sim.runtime import SimNode
from flexlet.adapters.units.manager import SystemdManager
from flexlet.adapters.units.tree import SystemdTree
from flexlet.errors import HostBusy, HostError

POD = "kubepods.slice/kubepods-pod1.slice"
VALUES = {
    "cpu.weight": "39",
    "cpu.max": "1500 100000",
    "memory.max": "104857600",
    "memory.high": "100000000",
    "memory.min": "4096",
    "pids.max": "100",
    "cpuset.cpus": "0-1",
    "hugetlb.2MB.max": "0",
}
READ = VALUES | {"cpu.max": "2000 100000", "memory.high": "99999744"}


class There:
    """A kernel, its systemd, and the tree through both."""

    def __init__(self, directory: Path, *, patience_s: float = 5.0, is_bus: bool = False) -> None:
        self.node = SimNode(FakeClock())
        self.systemd = FakeSystemd(self.node.kernel)
        self.socket, nothing = directory / "socket", directory / "nothing"
        sockets = (nothing, self.socket) if is_bus else (self.socket, nothing)
        self.manager = SystemdManager(*sockets, patience_s=patience_s)
        self.tree = SystemdTree(self.node.cgroups, self.manager)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator["There"]:
        async with self.systemd.serve(self.socket):
            yield self
            self.manager.close()


async def test_values_outlive_a_reload(tmp_path: Path) -> None:
    """What goes into files alone is lost as soon as systemd looks at the unit again."""
    async with There(tmp_path).serving() as there:
        await there.tree.create(POD)
        await there.tree.write(POD, VALUES)
        assert await there.tree.read(POD, tuple(VALUES)) == READ
        there.systemd.reload()
        assert await there.tree.read(POD, tuple(VALUES)) == READ
        await there.node.cgroups.write(POD, {"memory.max": "max"})
        there.systemd.reload()
        assert await there.tree.read(POD, ("memory.max",)) == {"memory.max": "104857600"}


async def test_files_alone_are_lost_in_a_reload(tmp_path: Path) -> None:
    """The simulated systemd does what was seen of the real one, or the test above would say nothing."""
    async with There(tmp_path).serving() as there:
        await there.tree.create(POD)
        await there.node.cgroups.write(POD, VALUES)
        there.systemd.reload()
        lost = {"memory.max": "max", "cpu.max": "max 100000", "cpu.weight": "100", "hugetlb.2MB.max": "0"}
        assert await there.tree.read(POD, tuple(lost)) == lost


async def test_units_are_started_once_and_stopped_for_good(tmp_path: Path) -> None:
    async with There(tmp_path).serving() as there:
        await there.tree.create(POD)
        await there.tree.create(POD)
        starts = ["StartTransientUnit kubepods.slice", "StartTransientUnit kubepods-pod1.slice"]
        assert there.systemd.calls == starts
        await there.tree.remove(POD)
        assert list(there.systemd.units) == ["kubepods.slice"]
        assert there.systemd.calls[2:] == ["StopUnit kubepods-pod1.slice", "ResetFailedUnit kubepods-pod1.slice"]
        await there.tree.remove(POD)
        await there.tree.create(POD)
        assert list(there.systemd.units) == ["kubepods.slice", "kubepods-pod1.slice"]
        assert f"\0AUTH EXTERNAL {str(os.geteuid()).encode().hex()}\r\n".encode() == there.systemd.greetings[0]


async def test_a_slice_that_is_a_directory_alone_becomes_a_unit(tmp_path: Path) -> None:
    """An agent before this one, or somebody with mkdir, made it."""
    async with There(tmp_path).serving() as there:
        await there.node.cgroups.create(POD)
        await there.tree.create(POD)
        assert list(there.systemd.units) == ["kubepods.slice", "kubepods-pod1.slice"]


async def test_a_slice_that_somebody_stopped_is_started_again(tmp_path: Path) -> None:
    async with There(tmp_path).serving() as there:
        await there.tree.create(POD)
        await there.manager.stop("kubepods.slice")
        await there.tree.create(POD)
        assert list(there.systemd.units) == ["kubepods.slice", "kubepods-pod1.slice"]


async def test_a_unit_that_was_there_before_is_started_as_it_is(tmp_path: Path) -> None:
    """``kubepods.slice`` may have a file of its own, with values that are not ours."""
    async with There(tmp_path).serving() as there:
        there.systemd.units["kubepods.slice"] = {"TasksMax": 7}
        await there.tree.create("kubepods.slice")
        assert there.systemd.calls == ["StartTransientUnit kubepods.slice", "StartUnit kubepods.slice"]
        assert await there.tree.read("kubepods.slice", ("pids.max",)) == {"pids.max": "7"}


async def test_what_is_no_unit_is_a_matter_of_files(tmp_path: Path) -> None:
    async with There(tmp_path).serving() as there:
        await there.tree.create("kubepods/pod1")
        await there.tree.write("kubepods/pod1", {"cpu.max": "1500 100000"})
        assert await there.tree.read("kubepods/pod1", ("cpu.max",)) == {"cpu.max": "1500 100000"}
        await there.tree.remove("kubepods/pod1")
        assert there.systemd.calls == []


async def test_scopes_of_containers_are_units_too(tmp_path: Path) -> None:
    async with There(tmp_path).serving() as there:
        scope = f"{POD}/cri-containerd-abc.scope"
        await there.tree.create(POD)
        await there.node.cgroups.create(scope)
        there.systemd.units["cri-containerd-abc.scope"] = {}
        await there.tree.write(scope, {"memory.swap.max": "4096"})
        there.systemd.reload()
        assert await there.tree.read(scope, ("memory.swap.max",)) == {"memory.swap.max": "4096"}


async def test_a_new_systemd_is_found_again(tmp_path: Path) -> None:
    async with There(tmp_path).serving() as there:
        await there.tree.create(POD)
        there.systemd.reexec()
        await there.tree.write(POD, {"cpu.weight": "7"})
        assert there.systemd.units["kubepods-pod1.slice"]["CPUWeight"] == 7


async def test_the_system_bus_serves_where_there_is_no_private_socket(tmp_path: Path) -> None:
    async with There(tmp_path, is_bus=True).serving() as there:
        await there.tree.create("kubepods.slice")
        assert [each.partition(" ")[0] for each in there.systemd.calls] == [
            *("Hello", "AddMatch", "Subscribe", "StartTransientUnit"),
        ]


async def test_refusals_are_told_in_systemds_words(tmp_path: Path) -> None:
    async with There(tmp_path).serving() as there:
        await there.tree.create(POD)
        del there.systemd.units["kubepods-pod1.slice"]
        with pytest.raises(HostError) as raised:
            await there.tree.write(POD, {"cpu.weight": "7"})
        assert str(raised.value) == (
            "cannot set CPUWeight of kubepods-pod1.slice: systemd says NoSuchUnit: "
            "Unit kubepods-pod1.slice not loaded."
        )
        there.systemd.job_result = "failed"
        with pytest.raises(HostError, match=r"cannot StartTransientUnit a.slice: the job ended as failed"):
            await there.tree.create("a.slice")


async def test_a_silent_systemd_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    async with There(tmp_path, patience_s=0.05).serving() as there:
        there.systemd.is_deaf = True
        with pytest.raises(HostBusy, match=r"systemd does not answer within 0.05 s"):
            await there.tree.create("a.slice")


async def test_without_systemd_the_message_names_both_sockets(tmp_path: Path) -> None:
    there = There(tmp_path)
    with pytest.raises(HostBusy, match=r"systemd is out of reach: neither at .*socket .* nor at .*nothing"):
        await there.tree.create("a.slice")
