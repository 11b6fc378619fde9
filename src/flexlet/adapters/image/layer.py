"""The code layer: a small disk with flexlet, its dependencies, the guest's scripts and the container images.

Apart from the root file system so that a change of our code costs two seconds and not an image. Its folders:
`site` (for PYTHONPATH), `bin`, `guest` (inittab and what it runs), `images` (an archive and its hash).
Everything is compiled by the guest's own Python, which runs on the host straight out of the image's folder,
because compiling under emulation would cost every boot many seconds.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

import msgspec

import flexlet
from flexlet.adapters.image import cache, oci, program, wheels
from flexlet.adapters.image.progress import Progress

MOUNTED_AT = "/opt/flexlet"
_KEPT = 5
_BLOCK = 4096
_LAUNCHER = '#!/bin/sh\nexec /usr/bin/python3 -s -m flexlet "$@"\n'
_DISK_OPTIONS = ("-O", "^has_journal,^metadata_csum,^64bit,^resize_inode", "-m", "0")


def ensure(store: Path, image: Path, progress: Progress) -> Path:
    """The layer of the code that is running, for this image."""
    source = Path(flexlet.__file__).parent
    pins = wheels.pins(source)

    def build(target: Path) -> None:
        progress("packing flexlet for the guest")
        _fill(target / "tree", source, _site(store, image, pins, progress), image)
        _make_disk(target / "tree", target / "code.img")
        shutil.rmtree(target / "tree")

    done = cache.obtain(store / "layers", _digest(source, pins, image), build, progress)
    cache.forget(store / "layers", _KEPT)
    return done / "code.img"


def _digest(source: Path, pins: Mapping[str, str], image: Path) -> str:
    state = hashlib.sha256(msgspec.json.encode([image.name, pins]))
    for path in _sources(source):
        state.update(str(path.relative_to(source)).encode() + b"\0" + path.read_bytes())
    return state.hexdigest()[:16]


def _sources(source: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(source):
        inner[:] = sorted(name for name in inner if name != "__pycache__")
        yield from (Path(folder, name) for name in sorted(names))


def _site(store: Path, image: Path, pins: Mapping[str, str], progress: Progress) -> Path:
    """The dependencies, unpacked and compiled: the same for many layers."""
    name = hashlib.sha256(msgspec.json.encode([image.name, pins])).hexdigest()[:16]

    def build(target: Path) -> None:
        wheels.unpack(wheels.fetch(pins, store / "wheels", progress), target)
        _compile(image, target, target)

    return cache.obtain(store / "sites", name, build, progress)


def _fill(tree: Path, source: Path, site: Path, image: Path) -> None:
    # Links instead of copies: nothing writes to these files.
    shutil.copytree(site, tree / "site", copy_function=os.link)
    package = tree / "site/flexlet"
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    _compile(image, package, tree / "site")
    shutil.copytree(str(files(__package__).joinpath("files/guest")), tree / "guest")
    for script in (tree / "guest").iterdir():
        script.chmod(0o755)
    (tree / "bin").mkdir()
    (tree / "bin/flexlet").write_text(_LAUNCHER)
    (tree / "bin/flexlet").chmod(0o755)
    (tree / "images").mkdir()
    [archive] = oci.write_archives(tree / "images", image / "busybox")
    (tree / "images/id").write_text(hashlib.sha256(archive.read_bytes()).hexdigest())


def _compile(image: Path, folder: Path, site: Path) -> None:
    """Compile a folder with the guest's Python; the guest never compares times, since the disk never changes."""
    python = image / "python"
    libraries = python / "usr/lib/x86_64-linux-gnu"
    loader = [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries)]
    compileall = [str(python / "usr/bin/python3.13"), "-S", "-m", "compileall", "-q", "-j", "0"]
    options = ["--invalidation-mode", "unchecked-hash", "-s", str(site), "-p", f"{MOUNTED_AT}/site"]
    environment = {"PYTHONHOME": str(python / "usr"), "PATH": os.defpath}
    # 1: some packages ship files for other Pythons; a file that does not compile fails where it is imported.
    program.run([*loader, *compileall, *options, str(folder)], env=environment, accept={0, 1})


def _make_disk(tree: Path, disk: Path) -> None:
    entries = [Path(folder, name) for folder, inner, names in os.walk(tree) for name in (*inner, *names)]
    blocks = sum(path.lstat().st_size // _BLOCK + 2 for path in entries)
    size, inodes = str(blocks * 11 // 10 + 1024), str(len(entries) + 64)
    command = [program.find("mke2fs"), "-q", "-t", "ext4", "-b", str(_BLOCK), "-N", inodes, *_DISK_OPTIONS]
    program.run([*command, "-d", str(tree), str(disk), size])
