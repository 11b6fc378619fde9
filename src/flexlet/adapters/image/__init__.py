"""The disk images that a node VM boots from: kernel, initramfs, root file system and code layer.

Kept apart from the machine that boots them (`adapters.qemu`) because images are built once, without any VM, and
are shared by all of them. What must stay true: an image is named by the hash of what it was made from, it appears
in the cache complete or not at all, and no mirror's address is written into this package: the host's own apt
configuration says where Debian packages come from.

Disks of a node VM, in this order: `Image.rootfs` below a writable overlay of its own (vda), `code_layer` (vdb,
read-only) and, optional, a raw tar of the node's configuration (vdc), unpacked into /etc/flexlet at every boot.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

Progress = Callable[[str], None]

# What the guest's kernel is told; `root=` and friends are the initramfs' business.
COMMAND_LINE = "console=ttyS0 quiet panic=1"


class Image(msgspec.Struct, frozen=True):
    """A bootable image; all three files are shared and must not be written to."""

    kernel: Path
    initrd: Path
    rootfs: Path


def default_cache() -> Path:
    """$FLEXLET_CACHE, or ~/.cache/flexlet."""
    raise NotImplementedError


def ensure(cache: Path, progress: Progress) -> Image:
    """The image of this recipe, built if the cache has none (minutes, network)."""
    raise NotImplementedError


def code_layer(cache: Path, progress: Progress) -> Path:
    """A disk image with flexlet as it runs here and its dependencies for the guest's Python (seconds)."""
    raise NotImplementedError


def missing_tools() -> list[str]:
    """Debian packages that must be installed on this host before images can be built and booted."""
    raise NotImplementedError


def install_missing(progress: Progress) -> None:
    """Install what `missing_tools` names with apt-get; needs root."""
    raise NotImplementedError
