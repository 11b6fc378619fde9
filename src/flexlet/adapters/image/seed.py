"""The one boot that an image has while it is built, so that machines need not repeat its work.

containerd takes seconds under emulation to import our container images; done once, on an overlay that is committed
to the image's disk only if all went well. An image without it works too: its machines import at their first boot.
More images (those for virtual machines, which few want) stay in an overlay of their own.
"""

import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from flexlet.adapters.image import guestdisk, program
from flexlet.adapters.image.progress import Progress
from flexlet.errors import HostError

_PATIENCE_S = 600
_READONLY = "if=virtio,format=raw,readonly=on"
_SEEDED = "flexlet-guest: seeded"
# Hardware virtualization may be there and hang; emulation is slow and sure.
_MACHINE = "-machine q35 -accel tcg,thread=multi -cpu max,la57=off,cx16=off -smp 2 -m 1G"
_QUIET = "-nodefaults -display none -no-reboot"
_KERNEL = "console=ttyS0 quiet panic=-1 tsc=reliable mitigations=off no_timer_check inittab=inittab.seed"


def plant(image: Path, progress: Progress) -> None:
    """Boot the image in this folder once, and keep what it wrote."""
    progress("booting it once, to import container images")
    with tempfile.TemporaryDirectory(dir=image) as name:
        overlay = Path(name) / "overlay.qcow2"
        if _grown(image, overlay, Path(name), []):
            program.run([program.find("qemu-img"), "commit", "-q", str(overlay)])
        else:
            progress("  it did not get ready in time; each machine will import container images itself")


def grow(image: Path, archive: Path, overlay: Path, progress: Progress) -> None:
    """Boot the image once with an archive of more images as a further disk; what it wrote is the overlay."""
    progress("booting the node image once, to import the images for virtual machines (a minute or two)")
    with tempfile.TemporaryDirectory(dir=overlay.parent) as name:
        # The third disk of a machine is its configuration.
        nothing = Path(name) / "config.tar"
        tarfile.open(nothing, "w").close()
        if not _grown(image, overlay, Path(name), [nothing, archive]):
            console = (Path(name) / "console").read_text(errors="replace").splitlines()[-10:]
            raise HostError("the images for virtual machines could not be imported:\n" + "\n".join(console))


def _grown(image: Path, overlay: Path, scratch: Path, archives: Sequence[Path]) -> bool:
    code, console = scratch / "code.img", scratch / "console"
    guestdisk.fill(scratch / "tree", image)
    guestdisk.make(scratch / "tree", code)
    _create(image, overlay)
    return _boot(image, overlay, [code, *archives], console)


def _create(image: Path, overlay: Path) -> None:
    base = ["-F", "raw", "-b", str(image / "rootfs.img")]
    overlay.unlink(missing_ok=True)
    program.run([program.find("qemu-img"), "create", "-q", "-f", "qcow2", *base, str(overlay)])


def _boot(image: Path, overlay: Path, readonly: Sequence[Path], console: Path) -> bool:
    """Whether the guest did its work and switched itself off."""
    options = {
        "-kernel": str(image / "vmlinuz"),
        "-initrd": str(image / "initrd.img"),
        "-append": _KERNEL,
        "-serial": f"file:{console}",
    }
    command = [program.find("qemu-system-x86_64"), *_MACHINE.split(), *_QUIET.split()]
    command += [word for option in options.items() for word in option]
    command += ["-drive", f"file={_quoted(overlay)},if=virtio,format=qcow2,cache=unsafe"]
    command += [word for path in readonly for word in ("-drive", f"file={_quoted(path)},{_READONLY}")]
    try:
        subprocess.run(command, timeout=_PATIENCE_S, check=True, capture_output=True)  # noqa: S603
    except subprocess.SubprocessError:
        return False
    return _SEEDED in console.read_text(errors="replace")


def _quoted(path: Path) -> str:
    # QEMU reads a doubled comma as one that belongs to the value.
    return str(path).replace(",", ",,")
