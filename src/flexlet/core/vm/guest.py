"""What a launcher is told and tells, as values; they travel as lines of JSON.

Orders are declarative: `SetSize` says how big the guest shall be, and saying it again changes nothing. A launcher
reports whenever something changes and when asked to; a report is complete in itself, so a controller that has just
started, or whose connection broke, needs only the next one.
"""

from typing import Final, Literal

import msgspec

RunState = Literal["Starting", "Running", "Paused", "Incoming", "Migrated", "Ended"]
Progress = Literal["Settled", "Changing", "Partial", "Failed"]
MoveState = Literal["", "Active", "Completed", "Failed", "Cancelled"]


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """A disk file of the machine."""

    name: str
    path: str
    format: Literal["raw", "qcow2"] = "raw"
    is_readonly: bool = False
    is_snapshot: bool = False
    """What the guest writes is thrown away."""
    create: int = 0
    """Bytes of the file if it is to be made; 0: it must be there."""


class Forward(msgspec.Struct, frozen=True, kw_only=True):
    """A TCP or UDP port that leads into the guest."""

    port: int
    protocol: str = "tcp"


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a launcher needs to start QEMU; all sizes in bytes."""

    name: str
    cores: int = 1
    threads: int = 1
    sockets: int
    """At start."""
    max_sockets: int
    min_memory: int
    """The part that is always there."""
    memory: int
    """At start."""
    max_memory: int
    cpu_model: str = ""
    """Empty: the host's with KVM, what emulation does best otherwise."""
    page_size: int = 0
    """Of the huge pages that are the guest's memory; 0: ordinary pages."""
    block_size: int = 2 * 1024 * 1024
    """Of virtio-mem."""
    memory_device: Literal["virtio-mem", "pc-dimm"] = "virtio-mem"
    disks: tuple[Disk, ...] = ()
    has_network: bool = False
    forwards: tuple[Forward, ...] = ()
    kernel: str = ""
    initrd: str = ""
    kernel_args: str = ""
    has_graphics: bool = False
    grace_s: float = 30.0
    """How long the guest may take to shut down."""
    incoming: bool = False
    """Start as the target of a migration: nothing runs before it has arrived."""


class SetSize(msgspec.Struct, frozen=True, tag="setSize"):
    """Bring the guest to this many vCPUs and bytes; the latest order counts."""

    id: str
    """Comes back in reports, so that old answers can be told from new ones."""
    vcpus: int
    memory: int
    unplug_timeout_s: float = 120.0


class PowerDown(msgspec.Struct, frozen=True, tag="powerDown"):
    """Press the power button, and end the machine when its grace period is over."""


class MigrateTo(msgspec.Struct, frozen=True, tag="migrateTo"):
    """Send the machine to another launcher, which listens at this QEMU address."""

    address: str
    max_bandwidth: int = 0
    """Bytes a second; 0: as fast as it goes."""
    downtime_limit_ms: int = 300


class MigrateCancel(msgspec.Struct, frozen=True, tag="migrateCancel"):
    """Give a migration up; the machine goes on where it is."""


class Listen(msgspec.Struct, frozen=True, tag="listen"):
    """For a machine started with `incoming`: wait for the other one at this QEMU address."""

    address: str


ANY: Final = -1
AS_IT_IS: Final = 0


class AttachDevice(msgspec.Struct, frozen=True, tag="attachDevice"):
    """Hand a device of the node (PCI address) to the guest; its pod was made big enough for it before."""

    id: str
    pci_address: str
    memlock: int = ANY
    """Bytes that QEMU may lock; -1: any amount, 0: as many as before."""


Order = SetSize | PowerDown | MigrateTo | MigrateCancel | Listen | AttachDevice


class Answer(msgspec.Struct, frozen=True):
    """How far one resource has come with the last order."""

    progress: Progress = "Settled"
    message: str = ""
    failures: int = 0
    """How often the hypervisor failed at it since the order came."""


class Move(msgspec.Struct, frozen=True):
    """A migration, seen from the source."""

    state: MoveState = ""
    transferred: int = 0
    total_ms: int = 0
    downtime_ms: int = 0
    message: str = ""
    address: str = ""
    """Where it was sent: tells this migration from an earlier one."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A machine as it is."""

    run_state: RunState
    vcpus: int = 0
    """That QEMU has plugged in."""
    vcpus_online: int | None = None
    """That the guest uses; None: nobody in the guest says."""
    memory: int = 0
    """Bytes that the guest has."""
    requested: int = 0
    """Bytes that it may take at any moment without being asked again; never less than `memory` in its plans."""
    order: str = ""
    """Id of the SetSize that `cpu` and `ram` answer."""
    cpu: Answer = Answer()
    ram: Answer = Answer()
    resets: int = 0
    """How often the guest has started anew: after one its memory comes back within seconds."""
    resident: int = 0
    """Bytes of the launcher and QEMU that are not the guest's memory, 0 if unknown."""
    move: Move = Move()
    accelerator: str = ""
    exit_code: int | None = None
    message: str = ""
