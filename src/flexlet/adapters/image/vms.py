"""What a machine of the lab needs to run virtual machines of its own: two container images.

Built only when somebody asks for it. To import them takes containerd a minute or more under emulation, nearly all
of it for what seldom changes: that is done once, on a `disk` on top of the image's own. A machine has it as its
base, and gets the rest (flexlet's own layer, and what names it) as an archive to import at its start.
"""

import hashlib
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from flexlet.adapters.image import cache, launcher, layout, seed, vmguest
from flexlet.adapters.image.layout import Blob, ContainerImage
from flexlet.adapters.image.progress import Progress

_KEPT: Final = 3


class VmParts(NamedTuple):
    """What a machine starts with: a disk below its own, and an archive that it imports."""

    disk: Path
    archive: Path


def parts(store: Path, lab: Path, progress: Progress) -> VmParts:
    """For machines of the lab's image in folder `lab`."""
    images = (launcher.image(store, progress), vmguest.image(store, lab, progress))
    *lasting, _ = images[0].layers
    known = (*lasting, *images[1].layers)
    return VmParts(_disk(store, lab, images, known, progress), archive(store, images, progress, known))


def archive(
    store: Path, images: Sequence[ContainerImage], progress: Progress, without: Sequence[Blob] = ()
) -> Path:
    """Images as one file for `ctr images import`, complete unless some layers are there already."""

    def build(target: Path) -> None:
        with (target / "images.tar").open("wb") as file:
            layout.write(images, file, without)

    layers = [layer for image in images for layer in image.layers]
    done = cache.obtain(store / "vm-images", _digest([_names(layers), _names(without)]), build, progress)
    cache.forget(store / "vm-images", _KEPT)
    return done / "images.tar"


def _disk(
    store: Path, lab: Path, images: Sequence[ContainerImage], known: Sequence[Blob], progress: Progress
) -> Path:
    def build(target: Path) -> None:
        with tempfile.TemporaryDirectory(dir=target) as scratch:
            whole = Path(scratch) / "images.tar"
            with whole.open("wb") as file:
                layout.write(images, file)
            seed.grow(lab, whole, target / "rootfs.qcow2", progress)

    # A disk that was built again is another one below the same name.
    below = str((lab / "rootfs.img").stat().st_mtime_ns)
    name = _digest([lab.name, below, _names(known)])
    return cache.obtain(store / "vm-disks", name, build, progress) / "rootfs.qcow2"


def _names(layers: Iterable[Blob]) -> str:
    return " ".join(layer.digest for layer in layers)


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
