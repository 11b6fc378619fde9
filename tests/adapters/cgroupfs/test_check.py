"""A host that cannot be a node is told why, and what to do."""

from pathlib import Path

import pytest

from flexlet.adapters.cgroupfs.check import require_cgroup2
from flexlet.errors import ConfigError

REMEDY = (
    "boot with systemd.unified_cgroup_hierarchy=1 (and without systemd.legacy_systemd_cgroup_controller) on the "
    "kernel command line, or with cgroup_no_v1=all where there is no systemd"
)


def controllers(directory: Path, names: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cgroup.controllers").write_text(names + "\n")


def refusal(root: Path) -> str:
    with pytest.raises(ConfigError) as refused:
        require_cgroup2(root)
    return str(refused.value)


def test_cgroup_v2_is_accepted(tmp_path: Path) -> None:
    controllers(tmp_path, "cpuset cpu io memory pids")
    assert require_cgroup2(tmp_path) is None  # type: ignore[func-returns-value]


def test_cgroup_v1_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    assert refusal(tmp_path) == f"this host uses cgroup v1, flexlet needs cgroup v2 at {tmp_path}: {REMEDY}"


def test_a_hybrid_of_both_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    controllers(tmp_path / "unified", "hugetlb")
    expected = (
        f"this host uses cgroup v1 beside v2 (hybrid), flexlet needs cgroup v2 alone at {tmp_path}: {REMEDY}"
    )
    assert refusal(tmp_path) == expected


def test_no_tree_at_all(tmp_path: Path) -> None:
    root = tmp_path / "nowhere"
    assert refusal(root) == f"no cgroup v2 tree at {root}: mount one with `mount -t cgroup2 cgroup2 {root}`"


@pytest.mark.parametrize(("names", "missing"), [("cpu pids", "memory"), ("hugetlb", "cpu and memory")])
def test_controllers_that_resources_are_made_of_are_needed(tmp_path: Path, names: str, missing: str) -> None:
    controllers(tmp_path, names)
    assert refusal(tmp_path) == (
        f"the cgroup v2 tree at {tmp_path} lacks {missing}: cgroup v1 has taken the controller, or it was not "
        f"handed down to this cgroup namespace; {REMEDY}"
    )
