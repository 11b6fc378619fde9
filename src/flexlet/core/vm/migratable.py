"""Which machines can be moved while they run: those whose every byte is in memory, or where both nodes see it.

QEMU copies the memory of a machine, not its disks. A disk that only the old pod has, and that the guest writes to,
would be another one in the new pod. KubeVirt's reasons, as of its condition LiveMigratable.
"""

from typing import Final

from flexlet.core.vm.objects import Disk, FlexVM, Volume

DISKS: Final = "DisksNotLiveMigratable"
HOST_DEVICES: Final = "HostDeviceNotLiveMigratable"


def not_migratable(vm: FlexVM) -> tuple[str, str] | None:
    """Reason and message; None if it can be moved. None of this keeps a machine from growing in place."""
    spec = vm.spec.template.spec
    if spec.domain.devices.gpus or spec.domain.devices.host_devices:
        return HOST_DEVICES, "it has devices of its node: detach them, or stop it and start it elsewhere"
    disks = {disk.name: disk for disk in spec.domain.devices.disks}
    local = [volume.name for volume in spec.volumes if not _is_shared(volume, disks.get(volume.name))]
    if local:
        names = ", ".join(local)
        text = f"disk {names} is only in its pod: make it readonly, or use a hostDisk that is shared by all nodes"
        return DISKS, text
    return None


def _is_shared(volume: Volume, disk: Disk | None) -> bool:
    is_readonly = disk is not None and disk.disk is not None and disk.disk.readonly
    return is_readonly or (volume.host_disk is not None and volume.host_disk.shared)
