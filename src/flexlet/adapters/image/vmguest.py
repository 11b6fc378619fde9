"""A small guest to try virtual machines with, as a container image: the lab's kernel, and busybox on top of it.

For ``kernelBoot.container`` (``/boot/vmlinux``, ``/boot/initrd.img``) and as a containerDisk (``/disk/disk.img``,
a file system that holds a greeting). It brings CPUs and memory online and tells once a second what it has; it
boots fast, which matters where everything is emulated, some of it twice.
"""

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from flexlet.adapters.image import cache, cpio, initramfs, kernelimage, layout, program, recipe, tarlayer
from flexlet.adapters.image.layout import ContainerImage
from flexlet.adapters.image.progress import Progress
from flexlet.errors import HostError

NAME: Final = "localhost/flexlet/vm-guest:latest"
KERNEL: Final = "/boot/vmlinux"
INITRD: Final = "/boot/initrd.img"
_SPARED: Final = (
    "bpf_rstat_kfunc_init",
    "crypto_kdf108_init",
    "cubictcp_register",
    "dev_map_init",
    "inet6_init",
    "init_encrypted",
    "init_ima",
    "init_kprobe_trace",
    "load_system_certificate_list",
)
KERNEL_ARGS: Final = "quiet nokaslr swiotlb=noforce lsm=none cryptomgr.notests=1 initcall_blacklist=" + ",".join(
    _SPARED
)
"""What saves the kernel more than a third of its work: nothing that this guest would miss."""
DISK: Final = "/disk/disk.img"
GREETING: Final = "hello from a containerDisk"
MODULES: Final = ("virtio_pci", "virtio_blk", "virtio_net", "virtio_mem", "button", "evdev")
_DISK_SIZE: Final = "2M"


def image(store: Path, lab: Path, progress: Progress) -> ContainerImage:
    """The guest with the kernel of the lab's image in folder `lab`."""
    script = recipe.script("vmguest-init")

    def build(target: Path) -> None:
        progress("making a small guest for virtual machines")
        tree = target / "tree"
        (tree / "boot").mkdir(parents=True)
        (tree / "disk").mkdir()
        packed = (lab / "vmlinuz").read_bytes()
        (tree / KERNEL.lstrip("/")).write_bytes(kernelimage.unpacked(packed) or packed)
        (tree / INITRD.lstrip("/")).write_bytes(initrd(lab, target / "modules", script))
        _make_disk(target / "files", tree / DISK.lstrip("/"))
        tarlayer.packed({"boot": tree / "boot", "disk": tree / "disk"}, target / "layer.tar")
        for folder in ("tree", "modules", "files"):
            shutil.rmtree(target / folder)

    parts = [lab.name, script, KERNEL, GREETING, *MODULES]
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    done = cache.obtain(store / "vm-guests", name, build, progress)
    return ContainerImage((NAME,), (layout.blob(done / "layer.tar"),), {"Env": ["PATH=/"]})


def initrd(lab: Path, scratch: Path, script: str, wanted: Sequence[str] = MODULES) -> bytes:
    """A root file system of busybox, that script as its first process, and modules of the lab's kernel."""
    modules = _modules(lab, scratch, wanted)
    folders = map(cpio.folder, ("bin", "dev", "disk", "modules", "proc", "sys"))
    return cpio.archive(
        [
            *folders,
            cpio.device("dev/console", 5, 1),
            cpio.program("bin/busybox", (lab / "busybox").read_bytes()),
            cpio.program("init", script.encode()),
            *(cpio.program(f"modules/{path.name}", path.read_bytes()) for path in modules),
        ]
    )


def _modules(lab: Path, scratch: Path, wanted: Sequence[str]) -> list[Path]:
    """Modules out of the image's disk, under names that sort as they must be loaded."""
    scratch.mkdir()
    disk, kernel = lab / "rootfs.img", json.loads((lab / "image.json").read_text())["kernel"]
    there = f"/usr/lib/modules/{kernel}"
    order = initramfs.load_order(_debugfs(disk, f"cat {there}/modules.dep"), wanted)
    found = []
    for number, path in enumerate(order):
        copy = scratch / f"{number:02}-{path.name}"
        _debugfs(disk, f"dump {there}/{path} {copy}")
        if not copy.exists():
            raise HostError(f"cannot read {there}/{path} of {disk}: remove {lab} to have it built again")
        found.append(copy)
    return found


def _make_disk(files: Path, disk: Path) -> None:
    files.mkdir()
    (files / "greeting").write_text(f"{GREETING}\n")
    command = [program.find("mke2fs"), "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", str(files)]
    program.run([*command, str(disk), _DISK_SIZE])


def _debugfs(disk: Path, request: str) -> str:
    return program.run([program.find("debugfs"), "-R", request, str(disk)])
