"""What a machine of the lab needs to run virtual machines of its own: two container images, in one archive.

Built only when somebody asks for it. A machine gets the archive as a disk (vdd) and takes from it what its
containerd does not have; `disk` is an image's disk on which most of that has happened already.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from flexlet.adapters.image import cache, launcher, layout, seed, vmguest
from flexlet.adapters.image.layout import ContainerImage
from flexlet.adapters.image.progress import Progress

_KEPT: Final = 2


def archive(store: Path, images: Sequence[ContainerImage], progress: Progress) -> Path:
    """These images as one file for `ctr images import`."""

    def build(target: Path) -> None:
        with (target / "images.tar").open("wb") as file:
            layout.write(images, file)

    layers = (layer.digest for image in images for layer in image.layers)
    done = cache.obtain(store / "vm-images", _digest(layers), build, progress)
    cache.forget(store / "vm-images", _KEPT)
    return done / "images.tar"


def images(store: Path, lab: Path, progress: Progress) -> tuple[ContainerImage, ContainerImage]:
    """The launcher's and the small guest's; `lab` is the folder of the lab's image."""
    return launcher.image(store, progress), vmguest.image(store, lab, progress)


def disk(store: Path, lab: Path, progress: Progress) -> Path:
    """A disk on top of the lab image's own, with the images imported once: flexlet's own layer may be older."""
    made = images(store, lab, progress)
    *lasting, _ = made[0].layers
    # A disk that was built again is another one below the same name.
    below = str((lab / "rootfs.img").stat().st_mtime_ns)
    name = _digest([lab.name, below, *(layer.digest for layer in (*lasting, *made[1].layers))])

    def build(target: Path) -> None:
        seed.grow(lab, archive(store, made, progress), target / "rootfs.qcow2", progress)

    return cache.obtain(store / "vm-disks", name, build, progress) / "rootfs.qcow2"


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
