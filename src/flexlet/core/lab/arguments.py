"""The QEMU command line of a machine.

One function of values, so that a test can read the whole line. What holds: the control sockets are file
descriptors that the starter has bound (they exist with mode 0600 before QEMU runs), the network is user-mode
and forwards only from the host's loopback, disks are vda (the machine's own), vdb (code), vdc (configuration)
and in some vdd (container images for virtual machines), and the machine has twice the address space of its spare
memory, because modules and elastic memory may each come to fill all of it.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

from flexlet.api.units import MIB
from flexlet.core.lab.devices import VIRTIO_MEM_BACKEND, VIRTIO_MEM_ID, CpuSlot, Dimm
from flexlet.core.lab.plans import DIMM_SLOTS
from flexlet.core.lab.spec import MAX_CPUS, Inventory, MachineSpec

Accelerator = Literal["kvm", "tcg"]

# TCG of QEMU's older releases breaks Linux's allocator with cmpxchg16b; five-level paging only costs time.
CPU_MODELS: Final[dict[Accelerator, str]] = {"kvm": "host", "tcg": "max,la57=off,cx16=off"}
ACCELERATORS: Final[dict[Accelerator, str]] = {"kvm": "kvm", "tcg": "tcg,thread=multi"}
EXEC_PORT: Final = "flexlet.exec"
# TCG never takes back what it gives the thread of a CPU, and has as many of it as there are slots: with few slots
# a CPU could be plugged only a few times. The guest is told how many of the slots are meant for it.
EMULATED_STARTS: Final = MAX_CPUS
# New memory comes online by itself, and movable, or it could not be taken out again. The rest is for emulation:
# each line on the console costs, a clock that is not trusted costs at each reading, nothing is speculated, and on
# a busy host the check of the timer at boot fails (and panics) though the timer works.
KERNEL_ARGUMENTS: Final = (
    "console=ttyS0",
    "quiet",
    "panic=-1",
    "tsc=reliable",
    "no_timer_check",
    "mitigations=off",
    "memhp_default_state=online_movable",
)


class Boot(msgspec.Struct, frozen=True):
    """The files a machine starts from, as absolute paths."""

    kernel: str
    initrd: str
    overlay: str
    code: str
    config: str
    console: str
    pidfile: str
    vm_images: str = ""


class Channels(msgspec.Struct, frozen=True):
    """Listening sockets that QEMU inherits: two monitors, and one for each port of the guest's exec server."""

    monitors: tuple[int, ...]
    ports: tuple[int, ...]


def arguments(
    spec: MachineSpec,
    inventory: Inventory,
    forwards: Mapping[int, int],
    boot: Boot,
    channels: Channels,
    accelerator: Accelerator,
) -> list[str]:
    """What comes after ``qemu-system-x86_64``."""
    return [
        *_machine(spec, accelerator),
        *_boot(boot, kernel_arguments(spec, accelerator)),
        *_channels(channels),
        *_network(forwards),
        *_elastic(spec, inventory),
        *_plugged(inventory, accelerator),
    ]


def kernel_arguments(spec: MachineSpec, accelerator: Accelerator) -> str:
    """What the guest's kernel is told."""
    return " ".join((*KERNEL_ARGUMENTS, *((f"nr_cpus={spec.max_cpus}",) if accelerator == "tcg" else ())))


def _machine(spec: MachineSpec, accelerator: Accelerator) -> list[str]:
    spare = spec.max_memory - spec.memory
    slots = EMULATED_STARTS if accelerator == "tcg" else spec.max_cpus
    memory = f"size={spec.memory // MIB}M"
    if spare:
        memory += f",slots={DIMM_SLOTS},maxmem={(spec.memory + 2 * spare) // MIB}M"
    return [
        *("-name", f"guest={spec.name}"),
        *("-machine", "q35"),
        *("-accel", ACCELERATORS[accelerator]),
        *("-cpu", CPU_MODELS[accelerator]),
        *("-smp", f"cpus=1,maxcpus={slots},sockets={slots},cores=1,threads=1"),
        *("-m", memory),
        *("-nodefaults", "-no-user-config", "-no-reboot"),
        *("-display", "none"),
    ]


def _boot(boot: Boot, kernel: str) -> list[str]:
    return [
        *("-pidfile", boot.pidfile),
        *("-kernel", boot.kernel),
        *("-initrd", boot.initrd),
        *("-append", kernel),
        *("-chardev", f"file,id=console,path={quoted(boot.console)},append=on"),
        *("-serial", "chardev:console"),
        # unsafe: a flush reaches the host's memory, not its disk. QEMU may be killed; the host must not fall.
        *_disk("vda", 4, boot.overlay, "format=qcow2,discard=unmap,cache=unsafe"),
        *_disk("vdb", 5, boot.code, "format=raw,readonly=on"),
        *_disk("vdc", 6, boot.config, "format=raw,readonly=on"),
        *(_disk("vdd", 10, boot.vm_images, "format=raw,readonly=on") if boot.vm_images else ()),
    ]


def _disk(name: str, address: int, path: str, options: str) -> list[str]:
    """The guest numbers its disks by PCI address."""
    return [
        *("-drive", f"if=none,id={name},file={quoted(path)},{options}"),
        *("-device", f"virtio-blk-pci,drive={name},addr={address}"),
    ]


def _channels(channels: Channels) -> Iterator[str]:
    for number, descriptor in enumerate(channels.monitors):
        yield from ("-chardev", f"socket,id=qmp{number},fd={descriptor},server=on,wait=off")
        yield from ("-mon", f"chardev=qmp{number},mode=control")
    yield from ("-device", "virtio-serial-pci,addr=7")
    for number, descriptor in enumerate(channels.ports):
        yield from ("-chardev", f"socket,id=exec{number},fd={descriptor},server=on,wait=off")
        yield from ("-device", f"virtserialport,chardev=exec{number},name={port_name(number)}")


def _network(forwards: Mapping[int, int]) -> list[str]:
    rules = "".join(f",hostfwd=tcp:127.0.0.1:{host}-:{guest}" for host, guest in sorted(forwards.items()))
    return ["-netdev", f"user,id=net0{rules}", "-device", "virtio-net-pci,netdev=net0,romfile=,addr=8"]


def _elastic(spec: MachineSpec, inventory: Inventory) -> list[str]:
    spare = spec.max_memory - spec.memory
    if not spare:
        return []
    device = f"virtio-mem-pci,id={VIRTIO_MEM_ID},memdev={VIRTIO_MEM_BACKEND},bus=vmem0-port,block-size=2M"
    return [
        *("-object", f"memory-backend-ram,id={VIRTIO_MEM_BACKEND},size={spare // MIB}M,reserve=off"),
        *("-device", "pcie-root-port,id=vmem0-port,chassis=1,addr=9"),
        *("-device", f"{device},requested-size={inventory.elastic // MIB}M"),
    ]


def _plugged(inventory: Inventory, accelerator: Accelerator) -> Iterator[str]:
    model = CPU_MODELS[accelerator].partition(",")[0]
    for socket in inventory.sockets[1:]:
        slot = CpuSlot(f"{model}-x86_64-cpu", {"socket-id": socket, "core-id": 0, "thread-id": 0})
        yield from ("-device", f"{slot.type},id={slot.id},socket-id={socket},core-id=0,thread-id=0")
    for dimm in (Dimm(slot, size) for slot, size in sorted(inventory.dimms.items())):
        yield from ("-object", f"memory-backend-ram,id={dimm.backend},size={dimm.size // MIB}M")
        yield from ("-device", f"pc-dimm,id={dimm.id},memdev={dimm.backend},slot={dimm.slot}")


def port_name(number: int) -> str:
    """The name of an exec port inside the guest."""
    return EXEC_PORT if number == 0 else f"{EXEC_PORT}.{number}"


def quoted(path: str) -> str:
    """A path inside an option: QEMU reads a doubled comma as one."""
    return path.replace(",", ",,")
