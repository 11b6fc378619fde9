"""The disk images that a node VM boots from: kernel, initramfs, root file system and code layer.

Kept apart from the machine that boots them (`adapters.qemu`) because images are built once, without any VM, and
are shared by all of them. What must stay true: an image is named by the hash of what it was made from, it appears
in the cache complete or not at all, and no mirror's address is written into this package: the host's own apt
configuration says where Debian packages come from.

Disks of a node VM, in this order: `Image.rootfs` below a writable overlay of its own (vda), `code_layer` (vdb,
read-only) and, optional, a raw tar of the node's configuration (vdc), unpacked into /etc/flexlet at every boot,
and an archive of container images for virtual machines (vdd), imported when it is not the one imported before.
"""

from flexlet.adapters.image.cache import default as default_cache
from flexlet.adapters.image.image import Image, code_layer, ensure, launcher_archive, vm_parts
from flexlet.adapters.image.progress import Progress
from flexlet.adapters.image.tools import install as install_missing
from flexlet.adapters.image.tools import missing as missing_tools
from flexlet.adapters.image.tools import require as require_tools

__all__ = [
    "Image",
    "Progress",
    "code_layer",
    "default_cache",
    "ensure",
    "install_missing",
    "launcher_archive",
    "missing_tools",
    "require_tools",
    "vm_parts",
]
