"""What can be plugged into a machine, as values; their names are the same on every start.

A device's id follows from where it sits, so that a process that knows nothing but the machine finds what
another one has plugged, and a command that is repeated after a broken connection cannot plug the same thing
twice.
"""

from typing import Final

import msgspec

from flexlet.api.units import MIB

VIRTIO_MEM_ID: Final = "vmem0"
VIRTIO_MEM_BACKEND: Final = "vmem0-backend"


class CpuSlot(msgspec.Struct, frozen=True):
    """One place for a CPU: where it is, in QEMU's words, and the path of the CPU that sits there, if any."""

    type: str
    props: dict[str, int]
    path: str = ""

    @property
    def socket(self) -> int:
        """The socket's number."""
        return self.props.get("socket-id", 0)

    @property
    def place(self) -> tuple[int, int, int]:
        """Socket, core, thread: it orders slots the way the guest numbers its CPUs."""
        return self.socket, self.props.get("core-id", 0), self.props.get("thread-id", 0)

    @property
    def id(self) -> str:
        """The id a CPU gets here."""
        return "vcpu-" + "-".join(map(str, self.place))

    @property
    def target(self) -> str:
        """How ``device_del`` names the CPU: one that was there at boot has a path and no id."""
        return self.path if self.path and not self.path.endswith(f"/{self.id}") else self.id


class Dimm(msgspec.Struct, frozen=True):
    """A memory module in a slot."""

    slot: int
    size: int

    @property
    def id(self) -> str:
        """The id of the module."""
        return dimm_id(self.slot)

    @property
    def backend(self) -> str:
        """The id of the memory behind it, which may outlive the module: another one of that size can have it."""
        return f"{self.id}-backend-{self.size // MIB}M"


class VirtioMem(msgspec.Struct, frozen=True):
    """The machine's elastic memory: what was asked for, what the guest has taken, the most it can be."""

    requested: int
    size: int
    max_size: int
    block_size: int


class Memory(msgspec.Struct, frozen=True):
    """All memory of a machine: what it has from the start, modules, and elastic memory if there is any."""

    base: int
    dimms: tuple[Dimm, ...] = ()
    elastic: VirtioMem | None = None

    @property
    def asked(self) -> int:
        """Bytes that the guest has or may take at any moment."""
        return self.base + sum(dimm.size for dimm in self.dimms) + (self.elastic.requested if self.elastic else 0)

    @property
    def present(self) -> int:
        """Bytes that the guest has."""
        return self.base + sum(dimm.size for dimm in self.dimms) + (self.elastic.size if self.elastic else 0)

    @property
    def limit(self) -> int:
        """The most that may be asked: elastic memory alone can fill it, and so can modules."""
        return self.base + (self.elastic.max_size if self.elastic else 0)


def dimm_id(slot: int) -> str:
    """The id of the module in a slot."""
    return f"dimm{slot}"


def present(slots: tuple[CpuSlot, ...]) -> tuple[CpuSlot, ...]:
    """The slots that hold a CPU, in the guest's order."""
    return tuple(sorted((slot for slot in slots if slot.path), key=lambda slot: slot.place))
