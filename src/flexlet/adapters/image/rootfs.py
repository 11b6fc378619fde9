"""Building an image: Debian packages become a tree, the tree becomes a disk, a kernel and an initramfs.

Works as root and, where user namespaces allow it, without: the packages arrive as a tar archive, the only form
whose owners are right either way. Without root the tree on disk belongs to the caller, and mke2fs runs where the
caller looks like root.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from flexlet.adapters.image import bootstrap, guestpython, initramfs, program
from flexlet.adapters.image.progress import Progress
from flexlet.adapters.image.recipe import Recipe


def build(recipe: Recipe, target: Path, progress: Progress) -> None:
    """Fill `target` with vmlinuz, initrd.img, rootfs.img, image.json, busybox and python/."""
    tree = target / "tree"
    progress(f"building the node image from Debian {recipe.suite} (once; some minutes)")
    archive = target / "tree.tar"
    bootstrap.run(recipe.userland, archive, progress)
    progress("making the disk")
    unpack(archive, tree)
    archive.unlink()
    _finish(recipe, tree, target)
    _make_disk(recipe, tree, target / "rootfs.img")
    shutil.rmtree(tree)


def unpack(archive: Path, tree: Path) -> None:
    """Lay out an archive of mmdebstrap's as a folder."""
    tree.mkdir()
    # Devices come from the kernel; without root they could not be made anyway.
    options = ["--preserve-permissions", "--exclude=./dev/*"]
    program.run(["tar", "--extract", f"--file={archive}", f"--directory={tree}", *options])


def _finish(recipe: Recipe, tree: Path, target: Path) -> None:
    """Take out of the tree what is needed beside the disk."""
    (tree / "boot/vmlinuz").rename(target / "vmlinuz")
    shutil.copy(tree / "usr/bin/busybox", target / "busybox")
    modules = next((tree / "usr/lib/modules").iterdir())
    busybox = (target / "busybox").read_bytes()
    (target / "initrd.img").write_bytes(initramfs.build(busybox, modules, recipe.first_modules))
    keep_python(tree, target / "python")
    about = {"kernel": modules.name, "packages": versions(tree), "recipe": recipe}
    (target / "image.json").write_bytes(msgspec.json.format(msgspec.json.encode(about)))


def keep_python(tree: Path, target: Path) -> None:
    """Copy what `guestpython` needs of a tree."""
    for name in guestpython.FILES:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (tree / name).is_dir():
            shutil.copytree(tree / name, target / name, symlinks=False, ignore_dangling_symlinks=True)
        else:
            shutil.copy(tree / name, target / name)


def versions(tree: Path) -> dict[str, str]:
    """What dpkg says is installed."""
    status = (tree / "var/lib/dpkg/status").read_text()
    stanzas = (dict(_fields(stanza)) for stanza in status.split("\n\n"))
    return {fields["Package"]: fields["Version"] for fields in stanzas if "Version" in fields}


def _fields(stanza: str) -> Iterator[tuple[str, str]]:
    for line in stanza.splitlines():
        if line.startswith(("Package: ", "Version: ")):
            key, _, value = line.partition(": ")
            yield key, value


def _make_disk(recipe: Recipe, tree: Path, disk: Path) -> None:
    disk.touch()
    os.truncate(disk, recipe.disk_bytes)
    as_root = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
    program.run(
        [*as_root, program.find("mke2fs"), "-q", "-t", "ext4", *recipe.disk_options, "-d", str(tree), str(disk)]
    )
