from collections.abc import Sequence

import pytest

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import MIB, Bytes
from flexlet.core import doctor
from flexlet.core.doctor import Finding, Purpose
from flexlet.core.machine.machine import Cgroups, Cpu, HalfPlugged, Machine

CPUS = tuple(Cpu(each, each, 0, 0, 0) for each in range(2))
V2 = Cgroups(unified=True, controllers=frozenset({"cpu", "cpuset", "memory", "pids"}))


def machine(**more: object) -> Machine:
    usual = {
        "cpus": CPUS,
        "possible": CpuSet.of(range(4)),
        "block_size": Bytes(128 * MIB),
        "auto_online": "online",
    }
    return Machine(**(usual | more))  # type: ignore[arg-type]


def test_python() -> None:
    assert doctor.python((3, 11, 0)) == Finding("python", "ok", "3.11.0")
    wanted = Finding("python", "fail", "3.10.9", "flexlet needs Python 3.11 or newer")
    assert doctor.python((3, 10, 9)) == wanted


@pytest.mark.parametrize(("purposes", "level"), [((), "warn"), (("agent",), "fail"), (("vm", "cluster"), "warn")])
def test_what_is_missing_fails_only_for_who_needs_it(purposes: Sequence[Purpose], level: str) -> None:
    found = [
        doctor.cgroups(machine(), purposes),
        doctor.runtime("", "there is no socket", purposes),
        doctor.root(1000, purposes),
    ]
    assert [one.level for one in found] == [level] * 3
    assert all(one.advice for one in found)


def test_a_host_that_is_fit() -> None:
    assert doctor.cgroups(machine(cgroups=V2), ("agent",)) == Finding(
        "cgroups", "ok", "v2 with cpu, cpuset, memory, pids"
    )
    assert doctor.runtime("containerd v1.7", "", ("agent",)) == Finding("containers", "ok", "containerd v1.7")
    assert doctor.root(0, ("agent",)) == Finding("privileges", "ok", "root")
    assert doctor.qemu((), (), True, ("vm",)) == Finding("machines", "ok", "QEMU with KVM")


def test_machines() -> None:
    assert doctor.qemu(["qemu-utils"], ["apt-get install qemu-utils"], True, ("vm",)) == Finding(
        "machines", "fail", "packages are missing: qemu-utils", "as root: apt-get install qemu-utils"
    )
    slow = doctor.qemu((), (), False, ("vm",))
    assert (slow.level, slow.found) == ("warn", "QEMU without KVM")


MEMORY = "memory in blocks of 128Mi, new ones online"
OFFLINE = "are there and offline: an agent brings them online, or echo 1 into 'online'"


@pytest.mark.parametrize(
    ("parts", "level", "found", "advice"),
    [
        ({}, "ok", "2 CPUs, at most 4; memory in blocks of 128Mi, new ones online", ""),
        (
            {"possible": CpuSet.of(range(2))},
            "ok",
            f"2 CPUs, at most 2; {MEMORY}; as it was started, it takes no more CPUs",
            "",
        ),
        (
            {"block_size": Bytes(0)},
            "warn",
            "2 CPUs, at most 4",
            "this kernel cannot plug memory (CONFIG_MEMORY_HOTPLUG); sizes of this machine's memory are fixed",
        ),
        (
            {"half_plugged": HalfPlugged(offline_cpus=CpuSet.of([3]), offline_blocks=(40,)), "auto_online": ""},
            "warn",
            "2 CPUs, at most 4; memory in blocks of 128Mi, new ones offline",
            f"CPUs 3 and 1 blocks of memory {OFFLINE}",
        ),
    ],
)
def test_hot_plug(parts: dict[str, object], level: str, found: str, advice: str) -> None:
    seen = doctor.hotplug(machine(**parts))
    assert (seen.check, seen.level, seen.found, seen.advice) == ("hot plug", level, found, advice)


@pytest.mark.parametrize(
    ("minor", "level", "advice"),
    [
        ((1, 32), "fail", "flexlet needs Kubernetes 1.33 or newer to resize pods in place"),
        ((1, 34), "warn", "containers can be resized; pods as a whole only from Kubernetes 1.35 on"),
        ((1, 36), "ok", ""),
    ],
)
def test_clusters(minor: tuple[int, int], level: str, advice: str) -> None:
    found = doctor.cluster("https://c", "v1.x", minor)
    assert (found.level, found.found, found.advice) == (level, "https://c is Kubernetes v1.x", advice)
