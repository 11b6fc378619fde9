"""What a machine is started with: QEMU, the accelerator, the image and the code layer; and its own disks."""

import asyncio
import io
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from flexlet.adapters import image
from flexlet.adapters.qemu import acceleration, binary, overlay
from flexlet.adapters.qemu.binary import Qemu
from flexlet.adapters.qemu.directory import MachineDirectory
from flexlet.adapters.qemu.machine import Images
from flexlet.core.lab.arguments import Accelerator

Progress = Callable[[str], None]
_WORDS: dict[Accelerator, str] = {
    "kvm": "on KVM",
    "tcg": "emulated by TCG, for KVM does not work here",
}


class Parts(msgspec.Struct, frozen=True):
    """All that machines share."""

    qemu: Qemu
    accelerator: Accelerator
    images: Images
    rootfs: Path

    @property
    def manner(self) -> str:
        """How a machine runs, in words."""
        return _WORDS[self.accelerator]


async def gather(cache: Path, progress: Progress, *, has_vms: bool = False) -> Parts:
    """Everything there, built or found; minutes the first time, and some more for virtual machines."""
    qemu = await binary.find()
    accelerator = await acceleration.choose(qemu, cache)
    built = await asyncio.to_thread(image.ensure, cache, progress)
    code = await asyncio.to_thread(image.code_layer, cache, progress)
    if has_vms:
        more = await asyncio.to_thread(image.vm_parts, cache, progress)
        return Parts(qemu, accelerator, Images(built.kernel, built.initrd, code, more.archive), more.disk)
    return Parts(qemu, accelerator, Images(built.kernel, built.initrd, code), built.rootfs)


async def furnish(parts: Parts, machine: MachineDirectory, progress: Progress) -> None:
    """Give the machine its disk; one on top of another image is replaced, for it would not fit."""
    disk = machine.file("overlay.qcow2")
    base = await overlay.base_of(parts.qemu, disk)
    if base == parts.rootfs:
        return
    if base is not None:
        progress(f"machine {machine.name} gets a new disk: the image has changed")
    disk.unlink(missing_ok=True)
    await overlay.create(parts.qemu, disk, parts.rootfs)


def configure(machine: MachineDirectory, files: Mapping[str, bytes]) -> None:
    """Write what the guest finds in ``/etc/flexlet``."""
    archive = machine.file("config.tar")
    archive.unlink(missing_ok=True)
    archive.touch(mode=0o600)
    with tarfile.open(archive, "w") as tar:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o600
            tar.addfile(entry, io.BytesIO(data))
