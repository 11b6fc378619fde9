"""What can run out on a node, how much of it is left, and what is said when it does."""

from typing import Final

import msgspec

from flexlet.api.quantity import BINARY_SI, DECIMAL_SI, NANO, Quantity
from flexlet.core.kubeletconfig import thresholds
from flexlet.core.node.facts import DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE
from flexlet.core.resources.names import EPHEMERAL_STORAGE, MEMORY
from flexlet.core.stats.readings import CgroupReading, FsReading, NodeReading

MEMORY_AVAILABLE: Final = thresholds.MEMORY
ALLOCATABLE_MEMORY: Final = thresholds.ALLOCATABLE_MEMORY
NODEFS_AVAILABLE: Final = "nodefs.available"
NODEFS_INODES: Final = "nodefs.inodesFree"
IMAGEFS_AVAILABLE: Final = "imagefs.available"
IMAGEFS_INODES: Final = "imagefs.inodesFree"
PIDS_AVAILABLE: Final = "pid.available"
INODES: Final = "inodes"
PIDS: Final = "pids"
ALL_PODS: Final = "pods"
"""The name under which all pods together are measured."""

CONDITIONS: Final = {
    MEMORY_AVAILABLE: MEMORY_PRESSURE,
    ALLOCATABLE_MEMORY: MEMORY_PRESSURE,
    NODEFS_AVAILABLE: DISK_PRESSURE,
    NODEFS_INODES: DISK_PRESSURE,
    IMAGEFS_AVAILABLE: DISK_PRESSURE,
    IMAGEFS_INODES: DISK_PRESSURE,
    PIDS_AVAILABLE: PID_PRESSURE,
}
"""Signals with the condition they cause. Those of containerfs are none of their own: the kubelet gives them the
thresholds of the filesystem that containers lie on."""

RESOURCES: Final = {
    MEMORY_AVAILABLE: MEMORY,
    ALLOCATABLE_MEMORY: MEMORY,
    NODEFS_AVAILABLE: EPHEMERAL_STORAGE,
    NODEFS_INODES: INODES,
    IMAGEFS_AVAILABLE: EPHEMERAL_STORAGE,
    IMAGEFS_INODES: INODES,
    PIDS_AVAILABLE: PIDS,
}


class Level(msgspec.Struct, frozen=True):
    """How much was left of how much, and when that was measured."""

    available: int
    capacity: int
    time: float


Levels = dict[str, Level]
"""By signal; what could not be measured is absent and crosses no threshold."""


def levels(node: NodeReading) -> Levels:
    """What a reading says about every signal."""
    pods = next((system.usage for system in node.systems if system.name == ALL_PODS), None)
    found = {
        MEMORY_AVAILABLE: _memory(node.usage),
        ALLOCATABLE_MEMORY: _memory(pods),
        NODEFS_AVAILABLE: _bytes(node.fs),
        NODEFS_INODES: _inodes(node.fs),
        IMAGEFS_AVAILABLE: _bytes(node.image_fs),
        IMAGEFS_INODES: _inodes(node.image_fs),
        PIDS_AVAILABLE: _tasks(node),
    }
    return {signal: level for signal, level in found.items() if level is not None}


def text(signal: str, amount: int) -> str:
    """An amount of what a signal measures: bytes in binary units, inodes and processes in decimal ones."""
    counted = RESOURCES[signal] in (INODES, PIDS)
    return str(Quantity(amount * NANO, DECIMAL_SI if counted else BINARY_SI))


def _memory(usage: CgroupReading | None) -> Level | None:
    """Capacity is the limit, unless more than that is in use."""
    if usage is None or usage.working_set is None or usage.memory_limit is None:
        return None
    available = max(0, usage.memory_limit - usage.working_set)
    return Level(available, available + usage.working_set, usage.time)


def _bytes(fs: FsReading | None) -> Level | None:
    if fs is None or fs.available is None or fs.capacity is None:
        return None
    return Level(fs.available, fs.capacity, fs.time)


def _inodes(fs: FsReading | None) -> Level | None:
    if fs is None or fs.inodes_free is None or fs.inodes is None:
        return None
    return Level(fs.inodes_free, fs.inodes, fs.time)


def _tasks(node: NodeReading) -> Level | None:
    if node.max_tasks is None or node.tasks is None:
        return None
    return Level(node.max_tasks - node.tasks, node.max_tasks, node.time)
