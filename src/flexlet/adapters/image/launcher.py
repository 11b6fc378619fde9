"""The container image that launchers of virtual machines run in: Debian with QEMU and Python, and flexlet.

Three layers, so that what changes often is small: Debian's packages (named by their recipe), flexlet's
dependencies (named by their versions) and flexlet itself. A node that has the first two takes a new flexlet in
seconds. Nothing of the lab's own image is needed for it: clusters elsewhere use the same image.
"""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Final

import msgspec

import flexlet
from flexlet.adapters.image import bootstrap, cache, layer, layout, recipe, rootfs, tarlayer, tools, wheels
from flexlet.adapters.image.layout import Blob, ContainerImage
from flexlet.adapters.image.progress import Progress
from flexlet.core.vm.settings import IMAGE

_SITE: Final = "opt/flexlet/site"
_PROGRAM: Final = f'#!/bin/sh\nPYTHONPATH=/{_SITE} exec /usr/bin/python3 -s -m flexlet "$@"\n'
_SETTINGS: Final = {
    "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"],
    "Entrypoint": ["/usr/bin/flexlet"],
    "Cmd": ["vm-launcher", "run"],
}


class LauncherRecipe(msgspec.Struct, frozen=True):
    """The ingredients of the first layer. QEMU must be 10 or newer: older ones die of plugging a CPU again."""

    suite: str = "trixie"
    packages: tuple[str, ...] = ("busybox-static", "libstdc++6", "python3", "qemu-system-x86", "qemu-utils")
    excluded: tuple[str, ...] = (
        "/usr/bin/qemu-io",
        "/usr/bin/qemu-nbd",
        "/usr/bin/qemu-system-i386",
        "/usr/share/doc/*",
        "/usr/share/locale/*",
        "/usr/share/man/*",
    )

    @property
    def userland(self) -> bootstrap.Userland:
        """What Debian contributes."""
        script = recipe.script("customize-launcher")
        return bootstrap.Userland("the launcher image", self.suite, self.packages, self.excluded, script)


def digest(wanted: LauncherRecipe) -> str:
    """The name of the first layer that this recipe makes."""
    parts = [msgspec.json.encode(wanted), recipe.script("customize-launcher").encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def image(store: Path, progress: Progress) -> ContainerImage:
    """The image of flexlet as it runs here; minutes and network the first time, then seconds; blocks."""
    base = _base(store, progress)
    layers = (base / "layer.tar", _dependencies(store, base, progress), _code(store, base, progress))
    return ContainerImage((IMAGE,), tuple(_layer(path) for path in layers), _SETTINGS)


def _layer(path: Path) -> Blob:
    """A layer of the cache; its digest was taken when it was made."""
    return Blob(path.with_suffix(".digest").read_text(), path.stat().st_size, path)


def _note(path: Path) -> None:
    path.with_suffix(".digest").write_text(layout.blob(path).digest)


def _base(store: Path, progress: Progress) -> Path:
    """Debian's part, and its Python for the host to compile with."""
    wanted = LauncherRecipe()

    def build(target: Path) -> None:
        tools.require()
        progress(f"building the launcher image from Debian {wanted.suite} (once; some minutes)")
        archive, tree = target / "tree.tar", target / "tree"
        bootstrap.run(wanted.userland, archive, progress)
        tarlayer.repacked(archive, target / "layer.tar")
        _note(target / "layer.tar")
        rootfs.unpack(archive, tree)
        rootfs.keep_python(tree, target / "python")
        about = {"packages": rootfs.versions(tree), "recipe": wanted}
        (target / "image.json").write_bytes(msgspec.json.format(msgspec.json.encode(about)))
        archive.unlink()
        shutil.rmtree(tree)

    return cache.obtain(store / "launchers", digest(wanted), build, progress)


def _dependencies(store: Path, base: Path, progress: Progress) -> Path:
    pins = wheels.pins(Path(flexlet.__file__).parent)
    site = layer.site(store, base, pins, progress)

    def build(target: Path) -> None:
        tarlayer.packed({_SITE: site}, target / "layer.tar")
        _note(target / "layer.tar")

    return cache.obtain(store / "launcher-sites", site.name, build, progress) / "layer.tar"


def _code(store: Path, base: Path, progress: Progress) -> Path:
    source = Path(flexlet.__file__).parent
    kind = store / "launcher-code"

    def build(target: Path) -> None:
        progress("packing flexlet for launchers")
        package, script = target / "flexlet", target / "flexlet.sh"
        layer.package(source, package, base, before=cache.newest(kind))
        script.write_text(_PROGRAM)
        script.chmod(0o755)
        tarlayer.packed({f"{_SITE}/flexlet": package, "usr/bin/flexlet": script}, target / "layer.tar")
        _note(target / "layer.tar")

    done = cache.obtain(kind, layer.digest(source, {}, base), build, progress)
    cache.forget(kind, layer.KEPT)
    os.utime(done)
    return done / "layer.tar"
