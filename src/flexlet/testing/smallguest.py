"""A Linux that boots in seconds, for tests and benches of virtual machines: the lab's kernel and one script."""

import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from flexlet.adapters.image import cache, image, vmguest
from flexlet.adapters.image.progress import Progress
from flexlet.api.units import GIB, MIB
from flexlet.core.vm.guest import Machine

MODULES: Final = ("virtio_pci", "virtio_blk", "virtio_console", "virtio_mem", "button", "evdev")


class SmallGuest(msgspec.Struct, frozen=True):
    """What it starts from."""

    kernel: Path
    initrd: Path

    def machine(self, name: str, *arguments: str) -> Machine:
        """A machine of 1 of 4 vCPUs and 512Mi of 2Gi with it; arguments are the script's."""
        return Machine(
            name=name,
            sockets=1,
            max_sockets=4,
            min_memory=512 * MIB,
            memory=512 * MIB,
            max_memory=2 * GIB,
            kernel=str(self.kernel),
            initrd=str(self.initrd),
            kernel_args=" ".join(("quiet", "panic=-1", *arguments)),
            grace_s=30.0,
        )


def build(folder: Path, progress: Progress) -> SmallGuest:
    """Make it in that folder; the lab's image is built first if there is none (minutes, network)."""
    lab = image.ensure(cache.default(), progress)
    script = files(__package__).joinpath("guest-init").read_text()
    with tempfile.TemporaryDirectory() as scratch:
        archive = vmguest.initrd(lab.kernel.parent, Path(scratch) / "modules", script, MODULES)
    (folder / "initrd").write_bytes(archive)
    return SmallGuest(lab.kernel, folder / "initrd")
