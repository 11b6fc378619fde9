"""The QEMU command line of a virtual machine.

One function of values, so that a test can read the whole line. What holds: QEMU starts with one socket and gets
the others as devices with names, so that each of them can be taken out again and the target of a migration looks
the same; sockets of the host are descriptors that the starter has bound (mode 0600 before QEMU runs); PCI
addresses are fixed, because both ends of a migration must agree on them; memory above the least is one virtio-mem
device, or modules, and none at all if the machine cannot grow.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from flexlet.api.units import GIB, MIB
from flexlet.core.lab.arguments import ACCELERATORS, CPU_MODELS, EMULATED_STARTS, Accelerator, quoted
from flexlet.core.lab.devices import VIRTIO_MEM_BACKEND, VIRTIO_MEM_ID, CpuSlot, Dimm
from flexlet.core.lab.plans import DIMM_SLOTS
from flexlet.core.vm.guest import Disk, Machine

AGENT_PORT: Final = "org.qemu.guest_agent.0"
AGENT_CHARDEV: Final = "agent"
PLUG_PORTS: Final = 4
"""Root ports that are kept free for devices of the node."""
MODULE: Final = GIB
_HOSTS_OWN: Final = frozenset({"", "host-passthrough", "host-model"})
# New memory comes online by itself, and movable, or it could not be taken out again.
_GROWING: Final = ("memhp_default_state=online_movable",)
# A clock that is not trusted costs at each reading, and on a busy host the check of the timer at boot fails.
_EMULATED: Final = ("tsc=reliable", "no_timer_check", "mitigations=off")


class Channels(msgspec.Struct, frozen=True):
    """Listening sockets that QEMU inherits, as descriptors: two monitors, the guest agent's, the console's."""

    monitors: tuple[int, ...]
    agent: int
    serial: int

    @property
    def all(self) -> tuple[int, ...]:
        """Every one of them."""
        return (*self.monitors, self.agent, self.serial)


def boot_line(machine: Machine, accelerator: Accelerator, channels: Channels, pidfile: str) -> list[str]:
    """What comes after ``qemu-system-x86_64``."""
    return [
        *_machine(machine, accelerator),
        *("-pidfile", pidfile),
        *_kernel(machine, accelerator),
        *_channels(channels),
        *_disks(machine),
        *_network(machine),
        *_memory(machine, accelerator),
        *_sockets(machine, accelerator),
        *(("-incoming", "defer") if machine.incoming else ()),
    ]


def vcpus_a_socket(machine: Machine) -> int:
    """What is plugged and unplugged at once."""
    return machine.cores * machine.threads


def cpu_slots(machine: Machine, accelerator: Accelerator) -> int:
    """The places for vCPUs that QEMU has; the machine uses the lowest of them.

    Emulation never takes back what a CPU's thread was given, so that each place serves one start: it gets far
    more of them than the machine may use. A kernel that we start is told how many are meant; others must not be
    burdened with hundreds.
    """
    most = machine.max_sockets * vcpus_a_socket(machine)
    if accelerator == "kvm":
        return most
    places = max(EMULATED_STARTS if machine.kernel else min(4 * most, EMULATED_STARTS), most)
    return places - places % vcpus_a_socket(machine)


def cpu_model(machine: Machine, accelerator: Accelerator) -> str:
    """The model with its features."""
    return CPU_MODELS[accelerator] if machine.cpu_model in _HOSTS_OWN else machine.cpu_model


def kernel_arguments(machine: Machine, accelerator: Accelerator) -> str:
    """What the guest's kernel is told: the user's words last, because the last one counts."""
    most = machine.max_sockets * vcpus_a_socket(machine)
    emulated = (*_EMULATED, f"nr_cpus={most}") if accelerator == "tcg" else ()
    return " ".join(("console=ttyS0", *emulated, *_GROWING, *machine.kernel_args.split()))


def modules_at_start(machine: Machine) -> tuple[Dimm, ...]:
    """The memory modules of a machine whose memory is modules."""
    if machine.memory_device != "pc-dimm":
        return ()
    spare = machine.memory - machine.min_memory
    sizes = [MODULE] * (spare // MODULE) + ([spare % MODULE] if spare % MODULE else [])
    return tuple(Dimm(slot, size) for slot, size in enumerate(sizes))


def _machine(machine: Machine, accelerator: Accelerator) -> list[str]:
    slots, unit = cpu_slots(machine, accelerator), vcpus_a_socket(machine)
    shape = f"sockets={slots // unit},cores={machine.cores},threads={machine.threads}"
    backend = ",memory-backend=ram0" if machine.page_size else ""
    return [
        *("-name", f"guest={machine.name},debug-threads=on"),
        *("-machine", f"q35{backend}"),
        *("-accel", ACCELERATORS[accelerator]),
        *("-cpu", cpu_model(machine, accelerator)),
        *("-smp", f"cpus={unit},maxcpus={slots},{shape}"),
        *("-m", _size(machine)),
        *("-nodefaults", "-no-user-config"),
        *(("-vga", "std") if machine.has_graphics else ()),
        *("-display", "none"),
        *("-device", "pvpanic-pci,addr=2"),
    ]


def _size(machine: Machine) -> str:
    size = f"size={machine.min_memory // MIB}M"
    if machine.max_memory == machine.min_memory:
        return size
    slots = f",slots={DIMM_SLOTS}" if machine.memory_device == "pc-dimm" else ""
    return f"{size}{slots},maxmem={machine.max_memory // MIB}M"


def _kernel(machine: Machine, accelerator: Accelerator) -> Iterator[str]:
    if not machine.kernel:
        return
    yield from ("-kernel", machine.kernel)
    if machine.initrd:
        yield from ("-initrd", machine.initrd)
    yield from ("-append", kernel_arguments(machine, accelerator))


def _channels(channels: Channels) -> Iterator[str]:
    for number, descriptor in enumerate(channels.monitors):
        yield from ("-chardev", f"socket,id=qmp{number},fd={descriptor},server=on,wait=off")
        yield from ("-mon", f"chardev=qmp{number},mode=control")
    yield from ("-chardev", f"socket,id=serial,fd={channels.serial},server=on,wait=off")
    yield from ("-serial", "chardev:serial")
    yield from ("-device", "virtio-serial-pci,addr=3")
    yield from ("-chardev", f"socket,id={AGENT_CHARDEV},fd={channels.agent},server=on,wait=off")
    yield from ("-device", f"virtserialport,chardev={AGENT_CHARDEV},id={AGENT_CHARDEV},name={AGENT_PORT}")


def _disks(machine: Machine) -> Iterator[str]:
    """The guest numbers its disks by PCI address: vda comes first. Address 4 leaves them room up to 15."""
    for number, disk in enumerate(machine.disks):
        yield from ("-drive", f"if=none,id={drive_id(number)},file={quoted(disk.path)},{_ways(disk)}")
        order = "" if machine.kernel else f",bootindex={number + 1}"
        ways = f"drive={drive_id(number)},serial={disk.name[:20]},addr={number + 4:#x}{order}"
        yield from ("-device", f"virtio-blk-pci,{ways}")


def drive_id(number: int) -> str:
    """How QEMU calls a disk."""
    return f"disk{number}"


def _ways(disk: Disk) -> str:
    ways = [f"format={disk.format}"]
    if disk.is_readonly:
        ways.append("readonly=on")
    if disk.is_snapshot:
        ways.append("snapshot=on")
    return ",".join([*ways, "discard=unmap"])


def _network(machine: Machine) -> list[str]:
    if not machine.has_network:
        return []
    rules = "".join(
        f",hostfwd={forward.protocol.lower()}::{forward.port}-:{forward.port}" for forward in machine.forwards
    )
    return ["-netdev", f"user,id=net0{rules}", "-device", "virtio-net-pci,netdev=net0,romfile=,addr=0x10"]


def _memory(machine: Machine, accelerator: Accelerator) -> Iterator[str]:
    if machine.page_size:
        yield from ("-object", _backend(machine, "ram0", machine.min_memory))
    for number in range(PLUG_PORTS):
        yield from ("-device", f"pcie-root-port,id=plug{number},chassis={number + 2},addr={number + 0x12:#x}")
    if machine.memory_device == "pc-dimm":
        for dimm in modules_at_start(machine):
            yield from ("-object", _backend(machine, dimm.backend, dimm.size))
            yield from ("-device", f"pc-dimm,id={dimm.id},memdev={dimm.backend},slot={dimm.slot}")
    elif machine.max_memory > machine.min_memory:
        yield from _elastic(machine, accelerator)


def _elastic(machine: Machine, accelerator: Accelerator) -> Iterator[str]:
    spare = machine.max_memory - machine.min_memory
    asked = machine.memory - machine.min_memory
    # Few slots while little is plugged; and a plug for which there are no huge pages fails instead of killing us.
    ways = ",dynamic-memslots=on" if accelerator == "kvm" else ""
    ways += ",prealloc=on" if machine.page_size else ""
    yield from ("-object", f"{_backend(machine, VIRTIO_MEM_BACKEND, spare)},reserve=off")
    yield from ("-device", "pcie-root-port,id=vmem0-port,chassis=1,addr=0x11")
    sizes = f"block-size={machine.block_size // MIB}M,requested-size={asked // MIB}M"
    device = f"virtio-mem-pci,id={VIRTIO_MEM_ID},memdev={VIRTIO_MEM_BACKEND},bus=vmem0-port"
    yield from ("-device", f"{device},{sizes}{ways}")


def _backend(machine: Machine, name: str, size: int) -> str:
    if machine.page_size:
        pages = f"hugetlb=on,hugetlbsize={machine.page_size // MIB}M"
        return f"memory-backend-memfd,id={name},size={size // MIB}M,{pages}"
    return f"memory-backend-ram,id={name},size={size // MIB}M"


def _sockets(machine: Machine, accelerator: Accelerator) -> Iterator[str]:
    """The vCPUs beyond the first socket."""
    driver = f"{cpu_model(machine, accelerator).partition(',')[0]}-x86_64-cpu"
    for socket in range(1, machine.sockets):
        for number in range(vcpus_a_socket(machine)):
            core, thread = divmod(number, machine.threads)
            slot = CpuSlot(driver, {"socket-id": socket, "core-id": core, "thread-id": thread})
            place = ",".join(f"{key}={value}" for key, value in slot.props.items())
            yield from ("-device", f"{driver},id={slot.id},{place}")
