"""Which nodes ``flexlet up`` starts, and how they follow their machines."""

from pathlib import Path

import pytest

from flexlet.api.units import GIB
from flexlet.apps.up import Here, Hollow, Vm
from flexlet.cli.up import Following, Size, _nodes
from flexlet.core.gates import parse
from flexlet.core.hollow.machine import Machine
from flexlet.core.lab.spec import MachineSpec
from flexlet.errors import ConfigError

SIZE = Size(cpus=None, memory=None, max_cpus=8, max_memory=16 * GIB)
RESIZE = b"apiVersion: flexlet.io/v1alpha1\nkind: NodeResizeConfiguration\norder: creation\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "resize.yaml"
    path.write_bytes(RESIZE)
    return path


def test_the_node_in_a_machine_follows_it_as_told(file: Path) -> None:
    given = Following("NodeResourceHotUnPlug=false", file)
    nodes, words = _nodes("vm=a", SIZE, given)
    gates = "InPlaceNodeResourceResize=true,NodeResourceHotUnPlug=false"
    assert nodes == Vm(MachineSpec("a", 2, 8, 2 * GIB, 16 * GIB), gates, RESIZE)
    assert words == "node a in a virtual machine"
    assert [parse(gates)[name] for name in ("NodeResourceHotPlug", "NodeResourceHotUnPlug")] == [True, False]


def test_this_host_does_too(file: Path) -> None:
    assert _nodes("here", SIZE, Following("", file))[0] == Here("", "InPlaceNodeResourceResize=true", file)


def test_hollow_nodes_have_no_machine_to_follow(file: Path) -> None:
    assert _nodes("hollow=3", SIZE, Following()) == (Hollow(3, Machine(cpus=8, memory=32 * GIB)), "3 hollow nodes")
    with pytest.raises(ConfigError, match="hollow nodes have no machine to follow"):
        _nodes("hollow", SIZE, Following("", file))


def test_a_wrong_file_is_told_before_anything_starts(file: Path) -> None:
    file.write_text("kind: NodeResizeConfiguration\n")
    with pytest.raises(ConfigError, match=r"resize\.yaml: apiVersion: this is None; set flexlet\.io/v1alpha1"):
        _nodes("vm", SIZE, Following("", file))
