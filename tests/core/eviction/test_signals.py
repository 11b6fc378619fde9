import msgspec
from tests.core.eviction.candidates import MIB, NOW, usage

from flexlet.core.eviction.signals import Level, levels, text
from flexlet.core.stats.readings import CgroupReading, FsReading, NodeReading, SystemReading


def test_every_signal_is_measured() -> None:
    """Memory without what can be reclaimed easily, disks and inodes, and how many processes may still start."""
    root = CgroupReading(
        time=NOW, memory={"inactive_file": 20 * MIB}, memory_usage=120 * MIB, memory_limit=1000 * MIB
    )
    pods = msgspec.structs.replace(usage(900), memory_limit=800 * MIB)
    disk = FsReading(time=NOW - 1, capacity=1000, available=100, inodes=50, inodes_free=5)
    node = NodeReading(
        name="n",
        time=NOW,
        usage=root,
        fs=disk,
        image_fs=FsReading(time=NOW, capacity=7),
        systems=(SystemReading(name="kubelet", cgroup="k"), SystemReading(name="pods", cgroup="p", usage=pods)),
        max_tasks=1000,
        tasks=300,
    )
    assert levels(node) == {
        "memory.available": Level(900 * MIB, 1000 * MIB, NOW),
        "allocatableMemory.available": Level(0, 900 * MIB, NOW),
        "nodefs.available": Level(100, 1000, NOW - 1),
        "nodefs.inodesFree": Level(5, 50, NOW - 1),
        "pid.available": Level(700, 1000, NOW),
    }


def test_what_is_unknown_is_absent() -> None:
    assert levels(NodeReading(name="n", time=NOW, usage=usage(5))) == {}


def test_amounts_have_their_units() -> None:
    assert text("memory.available", 95 * MIB) == "95Mi"
    assert text("nodefs.inodesFree", 4096000) == "4096k"
    assert text("pid.available", 2048) == "2048"
