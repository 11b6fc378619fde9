"""What others ask for, by name: the image of our recipe, the layer of our code, and what virtual machines need."""

from pathlib import Path

import msgspec

from flexlet.adapters.image import cache, launcher, layer, recipe, rootfs, seed, tools, vms
from flexlet.adapters.image.progress import Progress
from flexlet.adapters.image.vms import VmParts


class Image(msgspec.Struct, frozen=True):
    """A bootable image; all three files are shared and must not be written to."""

    kernel: Path
    initrd: Path
    rootfs: Path


def ensure(store: Path, progress: Progress) -> Image:
    """The image of this recipe, built if the cache has none (minutes, network); blocks."""
    folder = _folder(store, progress)
    return Image(folder / "vmlinuz", folder / "initrd.img", folder / "rootfs.img")


def code_layer(store: Path, progress: Progress) -> Path:
    """A disk image with flexlet as it runs here and its dependencies for the guest's Python (seconds); blocks."""
    return layer.ensure(store, _folder(store, progress), progress)


def vm_parts(store: Path, progress: Progress) -> VmParts:
    """What machines need to run virtual machines (minutes the first time, then seconds); blocks."""
    return vms.parts(store, _folder(store, progress), progress)


def launcher_archive(store: Path, progress: Progress) -> Path:
    """The launcher's container image alone, for clusters elsewhere (minutes the first time); blocks."""
    return vms.archive(store, [launcher.image(store, progress)], progress)


def _folder(store: Path, progress: Progress) -> Path:
    wanted = recipe.Recipe()

    def build(target: Path) -> None:
        tools.require()
        rootfs.build(wanted, target, progress)
        seed.plant(target, progress)

    return cache.obtain(store / "images", recipe.digest(wanted), build, progress)
