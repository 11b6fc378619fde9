"""Whether the disks, interfaces and kernel of a FlexVM hang together."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from flexlet.api.fielderrors import FieldError, duplicate, forbidden, invalid, required
from flexlet.core.vm.objects import Devices, Interface, KernelBoot, Machine, Volume

SPEC: Final = "spec.template.spec"
DEVICES: Final = f"{SPEC}.domain.devices"
KERNEL_BOOT: Final = f"{SPEC}.domain.firmware.kernelBoot"
_SOURCES: Final = ("containerDisk", "hostDisk", "emptyDisk")


def complaints(spec: Machine) -> Iterator[FieldError]:
    """What is missing, named twice, or of no kind that we know."""
    devices = spec.domain.devices
    yield from _twice(f"{DEVICES}.disks", (disk.name for disk in devices.disks))
    yield from _twice(f"{SPEC}.volumes", (volume.name for volume in spec.volumes))
    volumes = {volume.name for volume in spec.volumes}
    for index, disk in enumerate(devices.disks):
        if disk.name not in volumes:
            path = f"{DEVICES}.disks[{index}].name"
            yield invalid(path, disk.name, f"{path} '{disk.name}' not found: name a volume of {SPEC}.volumes")
    for index, volume in enumerate(spec.volumes):
        yield from _volume(f"{SPEC}.volumes[{index}]", volume)
    yield from _networks(spec)
    yield from _host_devices(devices)
    if spec.domain.firmware.kernel_boot is not None:
        yield from _kernel(spec.domain.firmware.kernel_boot)


def _twice(path: str, found: Iterable[str]) -> Iterator[FieldError]:
    for name, count in Counter(found).items():
        if count > 1:
            yield duplicate(path, name)


def _volume(path: str, volume: Volume) -> Iterator[FieldError]:
    sources = (volume.container_disk, volume.host_disk, volume.empty_disk)
    if sum(source is not None for source in sources) != 1:
        yield required(path, f"give exactly one of {', '.join(_SOURCES)}")
    if volume.container_disk is not None and not volume.container_disk.image:
        yield required(f"{path}.containerDisk.image", "name the image that holds the disk")
    if volume.host_disk is not None:
        if not volume.host_disk.path.startswith("/"):
            yield invalid(f"{path}.hostDisk.path", volume.host_disk.path, "must be an absolute path of the node")
        if volume.host_disk.type == "DiskOrCreate" and not volume.host_disk.capacity:
            yield required(f"{path}.hostDisk.capacity", "a disk that is to be made needs a size")
    if volume.empty_disk is not None and not volume.empty_disk.capacity:
        yield required(f"{path}.emptyDisk.capacity", "say how big the disk is, for example capacity: 2Gi")


def _networks(spec: Machine) -> Iterator[FieldError]:
    names = {network.name for network in spec.networks}
    for index, interface in enumerate(spec.domain.devices.interfaces):
        yield from _interface(f"{DEVICES}.interfaces[{index}]", interface, names)
    if len(spec.domain.devices.interfaces) > 1:
        yield forbidden(f"{DEVICES}.interfaces", "one interface at most is supported: remove the others")


def _interface(path: str, interface: Interface, networks: set[str]) -> Iterator[FieldError]:
    if interface.user is None:
        detail = "user: {} (QEMU's user-mode network) is the only kind that is supported: write it"
        yield required(f"{path}.user", detail)
    if interface.name not in networks:
        detail = f"'{interface.name}' not found: name a network of {SPEC}.networks"
        yield invalid(f"{path}.name", interface.name, detail)
    for index, port in enumerate(interface.ports):
        if not 0 < port.port < 1 << 16:
            yield invalid(f"{path}.ports[{index}].port", port.port, "must be between 1 and 65535, inclusive")


def _host_devices(devices: Devices) -> Iterator[FieldError]:
    for kind, found in (("gpus", devices.gpus), ("hostDevices", devices.host_devices)):
        for index, device in enumerate(found):
            if not device.device_name:
                yield required(f"{DEVICES}.{kind}[{index}].deviceName", "name the resource of its device plugin")


def _kernel(boot: KernelBoot) -> Iterator[FieldError]:
    source = boot.container
    if source is None and not boot.host_path:
        yield required(
            KERNEL_BOOT, "give container (an image with a kernel) or hostPath (a directory of the node)"
        )
    elif source is not None and not source.image:
        yield required(f"{KERNEL_BOOT}.container.image", "must be defined with an image")
    if not (source or boot).kernel_path:
        where = "container.kernelPath" if source else "kernelPath"
        yield required(f"{KERNEL_BOOT}.{where}", "name the kernel's file")
