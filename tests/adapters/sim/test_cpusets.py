"""What the simulated kernel makes of cpusets."""

import errno

import pytest

from flexlet.adapters.clock import SystemClock
from flexlet.adapters.sim.kernel import Kernel
from flexlet.adapters.sim.machine import Machine


def kernel(cpus: str) -> Kernel:
    machine = Machine(cpus=cpus)
    machine.mkdir("pods/pod/c")
    return Kernel(SystemClock(), machine)


def effective(sim: Kernel, path: str = "pods/pod/c") -> str | None:
    return sim.read(path, "cpuset.cpus.effective")


def test_a_set_is_what_is_wanted_and_online_and_above() -> None:
    sim = kernel("0-3")
    assert effective(sim) == "0-3"
    sim.write("pods/pod/c", "cpuset.cpus", "3,1-2,7")
    assert (sim.read("pods/pod/c", "cpuset.cpus"), effective(sim)) == ("1-3,7", "1-3")
    sim.write("pods", "cpuset.cpus", "0-1")
    assert (effective(sim, "pods/pod"), effective(sim)) == ("0-1", "1")


def test_a_set_of_which_nothing_is_online_is_the_parents_until_something_returns() -> None:
    sim = kernel("0-3")
    sim.write("pods", "cpuset.cpus", "0-2")
    sim.write("pods/pod/c", "cpuset.cpus", "2")
    sim.machine.cpus = "0-1"
    assert (sim.read("pods/pod/c", "cpuset.cpus"), effective(sim)) == ("2", "0-1")
    sim.machine.cpus = "0-3"
    assert effective(sim) == "2"


def test_memory_nodes_follow_the_same_rules() -> None:
    sim = kernel("0")
    sim.machine.mems = "0-1"
    sim.write("pods/pod/c", "cpuset.mems", "1")
    assert sim.read("pods/pod/c", "cpuset.mems.effective") == "1"
    sim.write("pods/pod/c", "cpuset.mems", "")
    assert sim.read("pods/pod/c", "cpuset.mems.effective") == "0-1"


def test_what_is_no_list_is_refused() -> None:
    sim = kernel("0")
    with pytest.raises(OSError, match="Invalid argument") as refused:
        sim.write("pods/pod/c", "cpuset.cpus", "all")
    assert refused.value.errno == errno.EINVAL
