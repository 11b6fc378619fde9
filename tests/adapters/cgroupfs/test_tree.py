"""What is told apart when the kernel says no; a directory of plain files stands in for a kernel."""

import errno
import os
from pathlib import Path

import pytest

from flexlet.adapters.cgroupfs.faults import refused
from flexlet.adapters.cgroupfs.oomscores import OomScores
from flexlet.adapters.cgroupfs.tree import CgroupfsTree
from flexlet.errors import HostBusy, HostError, HostUnsupported, InvariantBroken


@pytest.fixture
def pod(tmp_path: Path) -> Path:
    directory = tmp_path / "kubepods" / "pod1"
    directory.mkdir(parents=True)
    (directory / "cgroup.controllers").write_text("cpu memory hugetlb\n")
    for name in ("cpu.weight", "cpu.max", "memory.max"):
        (directory / name).write_text("max\n")
    return directory


@pytest.fixture
def tree(tmp_path: Path) -> CgroupfsTree:
    return CgroupfsTree(tmp_path)


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EBUSY, HostBusy),
        (errno.EAGAIN, HostBusy),
        (errno.EINVAL, HostUnsupported),
        (errno.ERANGE, HostUnsupported),
        (errno.EOPNOTSUPP, HostUnsupported),
        (errno.EACCES, HostError),
        (errno.ENODEV, HostError),
    ],
)
def test_refusals_are_sorted_by_whether_asking_again_helps(number: int, kind: type[HostError]) -> None:
    error = refused(OSError(number, os.strerror(number)), 'write "5" to /x/cpu.weight')
    assert type(error) is kind
    assert str(error) == f'cannot write "5" to /x/cpu.weight: {os.strerror(number)}'


@pytest.mark.usefixtures("pod")
async def test_files_that_are_not_there_are_left_out(tree: CgroupfsTree) -> None:
    assert await tree.read("kubepods/pod1", ("memory.max", "pids.max")) == {"memory.max": "max"}
    assert await tree.read("kubepods/pod2", ("memory.max",)) == {}


async def test_a_controller_that_the_kernel_lacks_is_skipped(tree: CgroupfsTree, pod: Path) -> None:
    """A node without the pids controller still runs pods; so do kernels that do not count reserved huge pages."""
    await tree.write("kubepods/pod1", {"pids.max": "7", "hugetlb.2MB.rsvd.max": "0", "cpu.weight": "139"})
    assert names(pod) == {"cgroup.controllers", "cpu.max", "cpu.weight", "memory.max"}
    assert await tree.read("kubepods/pod1", ("cpu.weight",)) == {"cpu.weight": "139"}


async def test_a_file_missing_from_its_controller_is_unsupported(tree: CgroupfsTree, pod: Path) -> None:
    with pytest.raises(HostUnsupported) as refusal:
        await tree.write("kubepods/pod1", {"memory.high": "max"})
    assert str(refusal.value) == f'cannot write "max" to {pod}/memory.high: this kernel has no memory.high'


async def test_writing_to_a_cgroup_that_is_gone(tree: CgroupfsTree, tmp_path: Path) -> None:
    with pytest.raises(HostError) as refusal:
        await tree.write("kubepods/pod2", {"cpu.weight": "1"})
    assert type(refusal.value) is HostError
    assert str(refusal.value) == f'cannot write "1" to {tmp_path}/kubepods/pod2/cpu.weight: the cgroup is gone'


@pytest.mark.parametrize("path", ["", "/kubepods", "..", "kubepods/../..", "kubepods//pod1", "./kubepods"])
async def test_nothing_outside_the_tree_is_removed(tree: CgroupfsTree, path: str) -> None:
    """Removing kills; the root and anything above it are out of reach."""
    for deed in (tree.remove(path), tree.create(path), tree.write(path, {})):
        with pytest.raises(InvariantBroken, match="is no path of a cgroup below"):
            await deed


@pytest.mark.usefixtures("pod")
async def test_the_root_may_be_looked_at(tree: CgroupfsTree) -> None:
    assert await tree.children("") == ("kubepods",)
    assert await tree.exists("")


async def test_oom_scores_of_what_is_still_there(tmp_path: Path) -> None:
    """Processes end at any moment; the others get their score."""
    scores = OomScores(proc(tmp_path, running=(1, 2), ending=(3,)))
    await scores.write((1, 2, 3, 4), -997)
    assert await scores.read((1, 2, 3, 4)) == {1: -997, 2: -997}


def proc(directory: Path, running: tuple[int, ...], ending: tuple[int, ...]) -> Path:
    for pid in (*running, *ending):
        (directory / str(pid)).mkdir()
    for pid in running:
        (directory / str(pid) / "oom_score_adj").write_text("0")
    return directory
