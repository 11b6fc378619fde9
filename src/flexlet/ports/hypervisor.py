"""The machine under a node, as something that can change size.

Two adapters obey it: QEMU through QMP, and a simulated one for tests and demonstrations. A refusal of the guest
is a value (`Refused`); HypervisorError means that the hypervisor itself said no, HypervisorGone that the
connection broke and nobody knows what came of the command: read `cpus` and `memory` before trying again. All
device ids follow from where a device sits, so trying again cannot plug twice.
"""

from collections.abc import AsyncIterator
from typing import Protocol

from flexlet.core.lab.devices import CpuSlot, Dimm, Memory
from flexlet.core.lab.events import Event
from flexlet.core.lab.unplugging import Outcome


class Hypervisor(Protocol):
    """One machine's hypervisor."""

    async def cpus(self) -> tuple[CpuSlot, ...]:
        """All CPU slots, full and free, in the guest's order."""
        ...

    async def memory(self) -> Memory:
        """The memory the machine has now."""
        ...

    async def plug(self, device: CpuSlot | Dimm) -> None:
        """Add a device; the guest has yet to bring it online."""
        ...

    async def unplug(self, device: CpuSlot | Dimm, patience_s: float) -> Outcome:
        """Ask the guest to let a device go; Unplugged only when that is proven."""
        ...

    async def ask_elastic(self, size: int) -> None:
        """Let elastic memory (virtio-mem) become that big; the guest follows in its own time, or partly."""
        ...

    async def power_down(self) -> None:
        """Press the power button: the guest ends by itself, if it listens."""
        ...

    async def quit(self) -> None:
        """End the machine at once, as if the power had failed."""
        ...

    def events(self) -> AsyncIterator[Event]:
        """What happens from now on; ends when the machine does."""
        ...
