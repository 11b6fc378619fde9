"""``flexlet lab`` on a real machine: what goes in is seen inside, what comes out is gone, what stays is told."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.vm.machine import Vm

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import GIB, KIB, MIB

pytestmark = [pytest.mark.vm, pytest.mark.timeout(600)]
REFUSED = 3


class Lab:
    """The command, as a user types it."""

    def __init__(self, vm: Vm) -> None:
        self._vm = vm

    def run(self, verb: str, *words: str) -> "subprocess.CompletedProcess[str]":
        line = [sys.executable, "-m", "flexlet", "lab", verb, "--data", str(self._vm.data), self._vm.name, *words]
        return subprocess.run(line, capture_output=True, text=True, check=False)

    def change(self, verb: str, *words: str) -> dict[str, Any]:
        done = self.run(verb, *words, "-o", "json")
        assert (done.returncode, done.stderr) == (0, "")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def inside(self, *command: str) -> str:
        done = self.run("exec", "--", *command)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    @property
    def online(self) -> CpuSet:
        return CpuSet.parse(self.inside("cat", "/sys/devices/system/cpu/online"))

    @property
    def memory(self) -> int:
        line = self.inside("grep", "MemTotal", "/proc/meminfo")
        return int(line.split()[1]) * KIB


@pytest.fixture
def lab(vm: Vm) -> Lab:
    return Lab(vm)


def test_two_cpus_and_a_gibibyte_go_in_and_out(lab: Lab) -> None:
    """Seen in the guest's /proc and /sys, not only in what the command says."""
    memory = lab.memory
    assert lab.online == CpuSet.parse("0-1")

    grown = lab.change("plug", "--cpus", "2", "--memory", "1Gi")
    assert (grown["after"]["cpus"], grown["after"]["memory"], grown["refusal"]) == (4, 3 * GIB, None)
    assert grown["after"]["guest"]["online"] == "0-3"
    assert lab.online == CpuSet.parse("0-3")
    assert lab.inside("nproc") == "4\n"
    assert lab.inside("grep", "-c", "^processor", "/proc/cpuinfo") == "4\n"
    assert lab.memory == memory + GIB

    shrunk = lab.change("unplug", "--cpus", "2", "--memory", "1Gi")
    assert (shrunk["after"]["cpus"], shrunk["after"]["memory"], shrunk["refusal"]) == (2, 2 * GIB, None)
    assert lab.online == CpuSet.parse("0-1")
    assert lab.inside("cat", "/sys/devices/system/cpu/present") == "0-1\n"
    assert lab.memory == memory


def test_elastic_memory_follows_in_small_steps(lab: Lab) -> None:
    memory = lab.memory
    lab.change("plug", "--memory", "514Mi", "--device", "virtio-mem")
    assert lab.memory == memory + 514 * MIB
    lab.change("unplug", "--memory", "514Mi", "--device", "virtio-mem")
    assert lab.memory == memory


def test_a_cpu_can_be_left_offline(lab: Lab) -> None:
    """Bringing it online is then the business of whoever runs in the guest."""
    lab.change("plug", "--cpus", "1", "--no-online")
    try:
        assert lab.online == CpuSet.parse("0-1")
        assert lab.inside("sh", "-c", "until grep -q 0-2 /sys/devices/system/cpu/present; do sleep 1; done") == ""
    finally:
        lab.change("unplug", "--cpus", "1")


@pytest.fixture
def deadlines(lab: Lab) -> Iterator[None]:
    """Two tasks with deadlines that need nearly all of two CPUs: the kernel does not take one away from them."""
    task = "chrt -d --sched-runtime 90000000 --sched-deadline 100000000 --sched-period 100000000 0 sleep 3600"
    lab.inside("sh", "-c", f"for _ in 1 2; do setsid {task} < /dev/null > /dev/null 2>&1 & done; sleep 1")
    yield
    lab.inside("sh", "-c", "for p in $(ps | awk '/[s]leep 3600/ { print $1 }'); do kill $p; done")


@pytest.mark.usefixtures("deadlines")
def test_a_cpu_that_is_needed_is_refused(lab: Lab) -> None:
    """The guest says no: exit code 3, the reason, and the CPU is still there."""
    done = lab.run("unplug", "--cpus", "1")
    assert done.returncode == REFUSED
    assert done.stderr == (
        "refused (GuestRefused): 0 of 1 CPUs unplugged: the guest keeps vcpu-1-0-0: the device is busy"
        " (ACPI status 130)\n"
    )
    assert lab.online == CpuSet.parse("0-1")


def test_what_cannot_be_is_refused_before_anything_is_done(lab: Lab) -> None:
    done = lab.run("plug", "--cpus", "7", "--memory", "1Gi")
    assert (done.returncode, done.stdout) == (REFUSED, "")
    assert done.stderr.startswith("refused (NoFreeSlot): cannot plug 7 CPUs: 6 of 8 slots are free")
    assert lab.online == CpuSet.parse("0-1")


def test_a_command_in_the_guest_is_as_one_here(lab: Lab) -> None:
    done = lab.run("exec", "--", "sh", "-c", "echo out; echo err >&2; exit 4")
    assert (done.returncode, done.stdout, done.stderr) == (4, "out\n", "err\n")


def test_logs_of_the_guest_are_shown(lab: Lab) -> None:
    assert "containerd successfully booted" in lab.run("logs", "containerd").stdout
    assert "Linux version" in lab.run("logs", "kernel").stdout
    assert "flexlet-guest: ready" in lab.run("console", "--no-follow").stdout
