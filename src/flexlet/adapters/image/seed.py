"""The one boot that an image has while it is built, so that machines need not repeat its work.

containerd takes seconds under emulation to import our container images; done once, on an overlay that is committed
to the image's disk only if all went well. An image without it works too: its machines import at their first boot.
"""

import subprocess
import tempfile
from pathlib import Path

from flexlet.adapters.image import guestdisk, program
from flexlet.adapters.image.progress import Progress

_PATIENCE_S = 240
_SEEDED = "flexlet-guest: seeded"
# Hardware virtualization may be there and hang; emulation is slow and sure.
_MACHINE = "-machine q35 -accel tcg,thread=multi -cpu max,la57=off,cx16=off -smp 2 -m 1G"
_QUIET = "-nodefaults -display none -no-reboot"
_KERNEL = "console=ttyS0 quiet panic=-1 tsc=reliable mitigations=off no_timer_check inittab=inittab.seed"


def plant(image: Path, progress: Progress) -> None:
    """Boot the image in this folder once, and keep what it wrote."""
    progress("booting it once, to import container images")
    with tempfile.TemporaryDirectory(dir=image) as name:
        _plant(image, Path(name), progress)


def _plant(image: Path, scratch: Path, progress: Progress) -> None:
    overlay, code, console = scratch / "overlay.qcow2", scratch / "code.img", scratch / "console"
    guestdisk.fill(scratch / "tree", image)
    guestdisk.make(scratch / "tree", code)
    qemu_img = program.find("qemu-img")
    base = ["-F", "raw", "-b", str(image / "rootfs.img")]
    program.run([qemu_img, "create", "-q", "-f", "qcow2", *base, str(overlay)])
    if _boot(image, overlay, code, console):
        program.run([qemu_img, "commit", "-q", str(overlay)])
    else:
        progress("  it did not get ready in time; each machine will import container images itself")


def _boot(image: Path, overlay: Path, code: Path, console: Path) -> bool:
    """Whether the guest did its work and switched itself off."""
    options = {
        "-kernel": str(image / "vmlinuz"),
        "-initrd": str(image / "initrd.img"),
        "-append": _KERNEL,
        "-serial": f"file:{console}",
    }
    disks = [
        f"file={_quoted(overlay)},if=virtio,format=qcow2,cache=unsafe",
        f"file={_quoted(code)},if=virtio,format=raw,readonly=on",
    ]
    command = [program.find("qemu-system-x86_64"), *_MACHINE.split(), *_QUIET.split()]
    command += [word for option in options.items() for word in option]
    command += [word for disk in disks for word in ("-drive", disk)]
    try:
        subprocess.run(command, timeout=_PATIENCE_S, check=True, capture_output=True)  # noqa: S603
    except subprocess.SubprocessError:
        return False
    return _SEEDED in console.read_text(errors="replace")


def _quoted(path: Path) -> str:
    # QEMU reads a doubled comma as one that belongs to the value.
    return str(path).replace(",", ",,")
