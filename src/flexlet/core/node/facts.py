"""What a node knows of itself, gathered by others and handed in as one frozen value."""

from typing import Final

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.core.machine.machine import Machine
from flexlet.core.runtime.shown import Image, RuntimeStatus, RuntimeVersion

MEMORY_PRESSURE: Final = "MemoryPressure"
DISK_PRESSURE: Final = "DiskPressure"
PID_PRESSURE: Final = "PIDPressure"
READY: Final = "Ready"
NODE_RESIZE: Final = "NodeResize"
STABLE: Final = "Stable"


class Address(msgspec.Struct, frozen=True):
    """One way to reach the node: InternalIP, Hostname."""

    type: str
    address: str


class Resizing(msgspec.Struct, frozen=True, kw_only=True):
    """How far the node is with following its machine; a node that does not follow it has none of this."""

    generation: int = 0
    reason: str = STABLE
    """Of the condition NodeResize; Stable is its False."""
    message: str = "capacity follows the machine"
    closed: bool = False
    """Whether nobody new shall be scheduled here: pods still have to leave."""
    ceiling: ResourceList = {}
    """At most this much is offered, though there is more: it is about to be unplugged."""
    unplug_ready: int = 0
    """The generation in which everything that was asked for is offline; 0 if nothing is."""


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The node now."""

    machine: Machine
    addresses: tuple[Address, ...] = ()
    runtime_version: RuntimeVersion | None = None
    runtime: RuntimeStatus | None = None
    """What the runtime said last; None until it has said anything."""
    runtime_ready_at: float | None = None
    """When it last said that it is ready."""
    images: tuple[Image, ...] = ()
    image_capacity: int | None = None
    """The size of the filesystem with the images; None until it was measured."""
    pressures: frozenset[str] = frozenset()
    """Types of the pressure conditions that hold."""
    shutting_down: bool = False
    problems: tuple[str, ...] = ()
    """Whatever else keeps the node from being ready, in words."""
    resizing: Resizing | None = None
    enforcement: str | None = None
    """Of the limit around all pods: None until it was tried, empty if it holds, else what went wrong."""
