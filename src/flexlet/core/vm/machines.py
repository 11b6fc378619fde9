"""The machine that a launcher starts for a FlexVM."""

import posixpath
from typing import Literal

from flexlet.core.vm import guest, names
from flexlet.core.vm.memlock import block_size
from flexlet.core.vm.objects import Disk, FlexVM, KernelBoot, Machine, Volume
from flexlet.core.vm.wish import Wanted

GRACE_S = 30
DISK_FILE = "disk.img"
"""Name of a disk that is copied or made, in the directory of its volume."""


def machine_of(vm: FlexVM, size: Wanted) -> guest.Machine:
    """All that QEMU is started with; what of it can change while it runs is told by orders."""
    spec = vm.spec.template.spec
    kernel, initrd, arguments = _kernel(spec.domain.firmware.kernel_boot)
    grace = spec.termination_grace_period_seconds
    return guest.Machine(
        name=vm.metadata.name,
        cores=size.cores,
        threads=size.threads,
        sockets=size.sockets,
        max_sockets=size.max_sockets,
        min_memory=size.min_memory,
        memory=size.memory,
        max_memory=size.max_memory,
        cpu_model=spec.domain.cpu.model,
        page_size=size.page_size,
        block_size=_blocks(size),
        memory_device=spec.domain.memory.device or "virtio-mem",
        disks=_disks(spec),
        has_network=bool(spec.domain.devices.interfaces),
        forwards=_forwards(spec),
        kernel=kernel,
        initrd=initrd,
        kernel_args=arguments,
        has_graphics=size.has_graphics,
        grace_s=float(GRACE_S if grace is None else grace),
    )


def _blocks(size: Wanted) -> int:
    return block_size(size.max_memory - size.min_memory, size.page_size, has_vfio=size.has_vfio)


def _disks(spec: Machine) -> tuple[guest.Disk, ...]:
    """In boot order, then as written; a volume that no disk names is a virtio disk too."""
    disks = {disk.name: disk for disk in spec.domain.devices.disks}
    found = [(disks.get(volume.name, Disk(name=volume.name)), volume) for volume in spec.volumes]
    found.sort(key=lambda pair: (pair[0].boot_order is None, pair[0].boot_order or 0))
    return tuple(_disk(disk, volume) for disk, volume in found)


def _disk(disk: Disk, volume: Volume) -> guest.Disk:
    path, create = volume_file(volume)
    return guest.Disk(
        name=volume.name,
        path=path,
        format=_format(volume),
        is_readonly=disk.disk is not None and disk.disk.readonly,
        create=create,
    )


def volume_file(volume: Volume) -> tuple[str, int]:
    """Where a volume's disk is in the launcher pod, and its bytes if it is to be made."""
    folder = f"{names.DISK_DIR}/{volume.name}"
    if volume.host_disk is not None:
        capacity = volume.host_disk.capacity.value if volume.host_disk.capacity else 0
        create = capacity if volume.host_disk.type == "DiskOrCreate" else 0
        return f"{folder}/{posixpath.basename(volume.host_disk.path)}", create
    if volume.empty_disk is not None:
        return f"{folder}/{DISK_FILE}", volume.empty_disk.capacity.value if volume.empty_disk.capacity else 0
    return f"{folder}/{DISK_FILE}", 0


def _format(volume: Volume) -> Literal["raw", "qcow2"]:
    path = (
        volume.container_disk.path if volume.container_disk else volume.host_disk.path if volume.host_disk else ""
    )
    return "qcow2" if path.endswith(".qcow2") else "raw"


def _forwards(spec: Machine) -> tuple[guest.Forward, ...]:
    ports = (port for interface in spec.domain.devices.interfaces for port in interface.ports)
    return tuple(guest.Forward(port=port.port, protocol=port.protocol.lower()) for port in ports)


def _kernel(boot: KernelBoot | None) -> tuple[str, str, str]:
    """Kernel, initrd and arguments; files of an image are copied, those of the node mounted, to the same place."""
    if boot is None:
        return "", "", ""
    source = boot.container or boot
    return _inside(source.kernel_path), _inside(source.initrd_path), boot.kernel_args


def _inside(path: str) -> str:
    return f"{names.KERNEL_DIR}/{path.lstrip('/')}" if path else ""
