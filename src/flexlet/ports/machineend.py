"""The hypervisor's end of a node's machine, as whoever sizes nodes needs it: measure, plug, unplug.

QEMU obeys it through `flexlet.engine.nodesize.hypervised`; a libvirt or a cloud needs no more than these three. A
machine that gives less than it was asked for is no failure: `refusal` says why, `cpus` and `memory` what it has.
"""

from typing import Protocol

import msgspec


class MachineSize(msgspec.Struct, frozen=True):
    """What a machine has, and why it is not what was wanted."""

    cpus: int
    memory: int
    refusal: str = ""
    modules: tuple[int, ...] | None = None
    """The sizes of the parts in which memory can be taken out, None if any part of it might go."""


class MachineEnd(Protocol):
    """One machine; HypervisorError and HypervisorGone are faults, everything else is an answer."""

    async def measure(self) -> MachineSize:
        """How big it is."""
        ...

    async def plug(self, cpus: int, memory: int) -> MachineSize:
        """Add this many CPUs and bytes; as many of each as there is place for."""
        ...

    async def unplug(self, cpus: int, memory: int) -> MachineSize:
        """Take this many out, as far as the guest lets them go."""
        ...
