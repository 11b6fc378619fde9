"""What a node VM's image is made of, and the name that follows from it.

Separate and pure so that the name can be had without building. Everything that changes the result belongs in here:
the name is the hash of this value and of the two scripts that take part in the build. Versions of packages do not:
Debian's stable releases fix bugs and change nothing else.

Why two releases: the user land is Debian 13's; the kernel is Debian 12's, because newer ones drop the free CPU
slots of a machine whose hypervisor they do not know, and QEMU's own emulation is none they know.
"""

import hashlib
from importlib.resources import files

import msgspec

from flexlet.adapters.image.bootstrap import Userland


class Recipe(msgspec.Struct, frozen=True):
    """The ingredients of an image."""

    suite: str = "trixie"
    packages: tuple[str, ...] = (
        "busybox-static",
        "ca-certificates",
        "containerd",
        "containernetworking-plugins",
        "iproute2",
        "libstdc++6",
        "iptables",
        "kmod",
        "python3",
        "runc",
    )
    excluded: tuple[str, ...] = ("/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*")
    kernel_suite: str = "bookworm"
    kernel: str = "linux-image-cloud-amd64"
    first_modules: tuple[str, ...] = ("virtio_pci", "virtio_blk", "virtio_console", "virtio_net")
    disk_bytes: int = 8 << 30
    # No lazy work is left to the guest, and no checksums for it to compute: both cost emulated CPU.
    disk_options: tuple[str, ...] = ("-O", "^metadata_csum,^64bit", "-J", "size=16", "-m", "0", "-N", "131072")

    @property
    def userland(self) -> Userland:
        """What Debian contributes."""
        return Userland(
            "the node image",
            self.suite,
            self.packages,
            self.excluded,
            script("customize"),
            {"KERNEL": self.kernel, "KERNEL_SUITE": self.kernel_suite},
            (self.kernel_suite,),
        )


def script(name: str) -> str:
    """A script that takes part in the build."""
    return files(__package__).joinpath("files", name).read_text()


def digest(recipe: Recipe) -> str:
    """The name of the image that this recipe makes."""
    parts = [msgspec.json.encode(recipe), script("customize").encode(), script("initramfs-init").encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
