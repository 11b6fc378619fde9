"""How big a machine is and may become; what was plugged into it; what is checked before QEMU is asked.

A `MachineSpec` never changes after creation. `Plugged` does: it is written down after each plug and unplug, and
a machine that starts again gets those devices at once, because the pods that were placed on it count on them.
"""

from typing import Final

import msgspec

from flexlet.api import names
from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB, MIB
from flexlet.errors import ConfigError

MAX_CPUS: Final = 255  # beyond it q35 wants an IOMMU with interrupt remapping
MEMORY_STEP: Final = 128 * MIB  # a memory block of Linux on x86: the least that can go on- or offline
MAX_NAME: Final = 40  # leaves room for the name in host names and socket paths


class MachineSpec(msgspec.Struct, frozen=True):
    """A machine as its user wants it: at start, and at most."""

    name: str
    cpus: int = 2
    max_cpus: int = 8
    memory: int = 2 * GIB
    max_memory: int = 16 * GIB


class Inventory(msgspec.Struct, frozen=True):
    """What is plugged into a machine: CPU sockets, DIMM sizes by slot, bytes of elastic memory."""

    sockets: tuple[int, ...]
    dimms: dict[int, int] = {}
    elastic: int = 0


class Record(msgspec.Struct, frozen=True):
    """All that is remembered about a machine between two starts."""

    spec: MachineSpec
    inventory: Inventory
    forwards: dict[int, int] = {}
    has_vms: bool = False
    """Whether it brings along what virtual machines in it need."""


def factory(spec: MachineSpec) -> Inventory:
    """What a new machine has."""
    return Inventory(tuple(range(spec.cpus)))


def check(spec: MachineSpec) -> MachineSpec:
    """The spec itself, or ConfigError naming the first thing that cannot work."""
    complaints = names.dns1123_label(spec.name)
    if complaints or len(spec.name) > MAX_NAME:
        text = "; ".join(complaints) or f"it is longer than {MAX_NAME} characters"
        raise ConfigError(f"cannot name a machine {spec.name!r}: {text}")
    if not 1 <= spec.cpus <= spec.max_cpus <= MAX_CPUS:
        raise ConfigError(
            f"machine {spec.name}: CPUs must be 1 <= --cpus <= --max-cpus <= {MAX_CPUS},"
            f" not {spec.cpus} and {spec.max_cpus}"
        )
    for option, size in (("--memory", spec.memory), ("--max-memory", spec.max_memory)):
        _check_size(spec.name, option, size)
    if spec.memory > spec.max_memory:
        raise ConfigError(
            f"machine {spec.name}: --memory {text_of(spec.memory)} is more than"
            f" --max-memory {text_of(spec.max_memory)}"
        )
    return spec


def _check_size(name: str, option: str, size: int) -> None:
    if size < MEMORY_STEP or size % MEMORY_STEP:
        raise ConfigError(
            f"machine {name}: {option} {text_of(size)} must be a multiple of {text_of(MEMORY_STEP)},"
            " the memory block of Linux"
        )


def text_of(size: int) -> str:
    """A size as people write it: ``1536Mi``."""
    return str(Quantity.of_bytes(size))
