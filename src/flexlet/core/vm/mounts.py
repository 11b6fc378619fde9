"""What a launcher pod mounts: its sockets, and a directory for each disk and for the kernel.

The files of a containerDisk are copied out of its image before the machine starts: the launcher's image lends a
static busybox, because the disk's image need not contain any program at all.
"""

from typing import Any, Final

import msgspec

from flexlet.core.vm import names
from flexlet.core.vm.machines import DISK_FILE
from flexlet.core.vm.objects import KernelBoot, Machine, Volume

Object = dict[str, Any]

RUN: Final = "run"
KERNEL: Final = "kernel"
_TOOLS: Final = "tools"
_TOOLS_DIR: Final = "/flexlet-tools"
_BUSYBOX: Final = f"{_TOOLS_DIR}/busybox"
_OUT: Final = "/flexlet-out"
_PAGES_DIR: Final = "/dev/hugepages"


class Mounts(msgspec.Struct):
    """Volumes of the pod, mounts of the container, and init containers that fill them."""

    volumes: list[Object]
    mounts: list[Object]
    copies: list[Object]


def of(spec: Machine, image: str) -> Mounts:
    """All that a machine's pod mounts."""
    found = Mounts([_empty(RUN)], [{"name": RUN, "mountPath": names.RUN_DIR}], [])
    for volume in spec.volumes:
        _disk(found, volume)
    boot = spec.domain.firmware.kernel_boot
    if boot is not None:
        _kernel(found, boot)
    if spec.domain.memory.hugepages is not None:
        size = spec.domain.memory.hugepages.page_size
        found.volumes.append({"name": "hugepages", "emptyDir": {"medium": f"HugePages-{size}"}})
        found.mounts.append({"name": "hugepages", "mountPath": _PAGES_DIR})
    if found.copies:
        found.volumes.append(_empty(_TOOLS))
        found.copies.insert(0, _lend(image))
    return found


def disk_dir(volume: str) -> str:
    """Where a launcher finds the files of a volume."""
    return f"{names.DISK_DIR}/{volume}"


def _disk(found: Mounts, volume: Volume) -> None:
    name = f"disk-{volume.name}"
    found.mounts.append({"name": name, "mountPath": disk_dir(volume.name)})
    if volume.host_disk is not None:
        directory = volume.host_disk.path.rpartition("/")[0] or "/"
        kind = "DirectoryOrCreate" if volume.host_disk.type == "DiskOrCreate" else "Directory"
        found.volumes.append({"name": name, "hostPath": {"path": directory, "type": kind}})
        return
    found.volumes.append(_empty(name))
    if volume.container_disk is not None:
        disk = volume.container_disk
        found.copies.append(_copy(f"copy-{volume.name}", disk.image, name, _from_disk(disk.path)))


def _kernel(found: Mounts, boot: KernelBoot) -> None:
    found.mounts.append({"name": KERNEL, "mountPath": names.KERNEL_DIR, "readOnly": True})
    if boot.container is None:
        found.volumes.append({"name": KERNEL, "hostPath": {"path": boot.host_path, "type": "Directory"}})
        return
    found.volumes.append(_empty(KERNEL))
    files = [path for path in (boot.container.kernel_path, boot.container.initrd_path) if path]
    script = "; ".join(["set -e", *(_same_place(path) for path in files)])
    found.copies.append(_copy("copy-kernel", boot.container.image, KERNEL, script))


def _same_place(path: str) -> str:
    """A file keeps its path below the directory it is copied to."""
    there = f"{_OUT}/{path.lstrip('/')}"
    return f"{_BUSYBOX} mkdir -p {there.rpartition('/')[0]}; {_BUSYBOX} cp {path} {there}"


def _from_disk(path: str) -> str:
    """The named file, or the first one in ``/disk``."""
    if path:
        return f"{_BUSYBOX} cp {path} {_OUT}/{DISK_FILE}"
    return f'for file in /disk/*; do {_BUSYBOX} cp "$file" {_OUT}/{DISK_FILE}; break; done'


def _lend(image: str) -> Object:
    command = ["/bin/busybox", "cp", "/bin/busybox", _BUSYBOX]
    mounts = [{"name": _TOOLS, "mountPath": _TOOLS_DIR}]
    return _init("lend-tools", image, command, mounts)


def _copy(name: str, image: str, volume: str, script: str) -> Object:
    mounts: list[Object] = [
        {"name": _TOOLS, "mountPath": _TOOLS_DIR, "readOnly": True},
        {"name": volume, "mountPath": _OUT},
    ]
    return _init(name, image, [_BUSYBOX, "sh", "-c", script], mounts)


def _init(name: str, image: str, command: list[str], mounts: list[Object]) -> Object:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
        # Its own requests count only while it runs, and are less than the machine's.
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "volumeMounts": mounts,
    }


def _empty(name: str) -> Object:
    return {"name": name, "emptyDir": {}}
