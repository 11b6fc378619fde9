"""The code layer: a small disk with flexlet, its dependencies, the guest's scripts and the container images.

Apart from the root file system so that a change of our code costs two seconds and not an image. Its folders:
`site` (for PYTHONPATH), `bin`, `guest` (inittab and what it runs), `images` (an archive and its hash).
A layer's folder keeps our compiled package beside the disk, so that the next layer compiles only what changed.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

import flexlet
from flexlet.adapters.image import cache, guestdisk, guestpython, wheels
from flexlet.adapters.image.progress import Progress

KEPT = 5
_LAUNCHER = '#!/bin/sh\nexec /usr/bin/python3 -s -m flexlet "$@"\n'


def ensure(store: Path, image: Path, progress: Progress) -> Path:
    """The layer of the code that is running, for this image."""
    source = Path(flexlet.__file__).parent
    pins = wheels.pins(source)

    def build(target: Path) -> None:
        progress("packing flexlet for the guest")
        dependencies = site(store, image, pins, progress)
        _fill(target / "tree", source, dependencies, image, before=cache.newest(store / "layers"))
        guestdisk.make(target / "tree", target / "code.img")
        (target / "tree/site/flexlet").rename(target / "flexlet")
        shutil.rmtree(target / "tree")

    done = cache.obtain(store / "layers", digest(source, pins, image), build, progress)
    cache.forget(store / "layers", KEPT)
    return done / "code.img"


def digest(source: Path, pins: Mapping[str, str], image: Path) -> str:
    """The name of code, dependencies and image together."""
    state = hashlib.sha256(msgspec.json.encode([image.name, pins]))
    for path in _sources(source):
        state.update(str(path.relative_to(source)).encode() + b"\0" + path.read_bytes())
    return state.hexdigest()[:16]


def _sources(source: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(source):
        inner[:] = sorted(name for name in inner if name != "__pycache__")
        yield from (Path(folder, name) for name in sorted(names))


def site(store: Path, image: Path, pins: Mapping[str, str], progress: Progress) -> Path:
    """The dependencies, unpacked and compiled: the same for many layers."""
    name = hashlib.sha256(msgspec.json.encode([image.name, pins])).hexdigest()[:16]

    def build(target: Path) -> None:
        wheels.unpack(wheels.fetch(pins, store / "wheels", progress), target)
        guestpython.compile_all(image, sorted(target.rglob("*.py")), target)

    return cache.obtain(store / "sites", name, build, progress)


def package(source: Path, target: Path, image: Path, before: Path | None) -> None:
    """Our package at `target`, compiled; what an earlier one in `before` has of it is taken from there."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    changed = guestpython.reuse(target, before / "flexlet") if before else sorted(target.rglob("*.py"))
    guestpython.compile_all(image, changed, target.parent)


def _fill(tree: Path, source: Path, dependencies: Path, image: Path, before: Path | None) -> None:
    # Links instead of copies: nothing writes to these files.
    shutil.copytree(dependencies, tree / "site", copy_function=os.link)
    package(source, tree / "site/flexlet", image, before)
    (tree / "bin").mkdir()
    (tree / "bin/flexlet").write_text(_LAUNCHER)
    (tree / "bin/flexlet").chmod(0o755)
    guestdisk.fill(tree, image)
