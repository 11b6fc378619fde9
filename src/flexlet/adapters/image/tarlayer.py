"""Layers of container images as tar files: from an archive that mmdebstrap wrote, or from a folder of ours.

Owners are kept from the archive and are root for folders; times are always zero, so equal contents give equal
layers, which a node that has one need not unpack again.
"""

import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

# A runtime gives each container devices of its own, and mounts the other two.
_RUNTIME: Final = ("dev/", "proc/", "sys/")


def repacked(archive: Path, layer: Path) -> None:
    """The archive of a root file system as a layer: without devices and without what the build left of itself."""
    with tarfile.open(archive) as source, _opened(layer) as target:
        for info in source:
            info.name = info.name.removeprefix("./")
            if info.name in {"", "."} or info.name.startswith(_RUNTIME):
                continue
            if info.islnk():
                info.linkname = info.linkname.removeprefix("./")
            info.mtime, info.pax_headers = 0, {}
            target.addfile(info, source.extractfile(info) if info.isreg() else None)


def packed(trees: Mapping[str, Path], layer: Path) -> None:
    """Folders and files as a layer, each under the name that it has there."""
    with _opened(layer) as target:
        made: set[str] = set()
        for name, path in sorted(trees.items()):
            _parents(target, name, made)
            _add(target, name, path)


def _opened(layer: Path) -> tarfile.TarFile:
    # PAX: names in site-packages may be longer than USTAR allows; containerd reads both.
    return tarfile.open(layer, "w", format=tarfile.PAX_FORMAT)


def _parents(target: tarfile.TarFile, name: str, made: set[str]) -> None:
    """The folders above it, once each; mode and owner are those of a system's own."""
    for parent in reversed(list(map(str, Path(name).parents))[:-1]):
        if parent not in made:
            made.add(parent)
            info = tarfile.TarInfo(parent)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            target.addfile(info)


def _add(target: tarfile.TarFile, name: str, path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        target.addfile(_info(target, name, path))
        for inner in sorted(path.iterdir()):
            _add(target, f"{name}/{inner.name}", inner)
        return
    info = _info(target, name, path)
    if info.isreg():
        with path.open("rb") as data:
            target.addfile(info, data)
    else:
        target.addfile(info)


def _info(target: tarfile.TarFile, name: str, path: Path) -> tarfile.TarInfo:
    info = target.gettarinfo(path, name)
    if info.islnk():
        # Two names of one file on this host: in the layer each has the contents.
        info.type, info.linkname, info.size = tarfile.REGTYPE, "", path.stat().st_size
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    info.mode |= 0o444 | (0o111 if info.isdir() else 0)
    info.mtime = 0
    return info
