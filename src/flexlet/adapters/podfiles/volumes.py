"""Lay a pod's volumes out on disk."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flexlet.adapters.podfiles import atomic, hostpath
from flexlet.adapters.podfiles.mounting import Mounter
from flexlet.core.agent.containers.contents import EmptyDirectory, FileSet, HostDirectory, VolumeContent

_WRITABLE: Final = 0o660
_READABLE: Final = 0o440
_ENTER: Final = 0o110 | stat.S_ISGID
"""Of directories: what is made in them later stays the group's."""


def lay_out(volumes: Path, content: VolumeContent, mounter: Mounter, fs_group: int | None, stamp: float) -> None:
    """Make one volume, or bring it up to date."""
    match content:
        case EmptyDirectory():
            _empty(volumes / "kubernetes.io~empty-dir" / content.name, content, mounter, fs_group)
        case HostDirectory():
            hostpath.ensure(content.path, content.type)
        case FileSet():
            _files(volumes / f"kubernetes.io~{content.plugin}" / content.name, content, mounter, fs_group, stamp)


def _empty(path: Path, content: EmptyDirectory, mounter: Mounter, fs_group: int | None) -> None:
    """Made once; from then on it belongs to the pod, whatever mode that gives it."""
    on_disk = not content.in_memory and not content.page_size
    if on_disk and path.is_dir():
        return
    if on_disk:
        # Complete before it has its name: what a crash leaves half made is not taken for the volume.
        beside = path.with_name(f".{path.name}")
        _make(beside, content.mode)
        _own(beside, fs_group, _WRITABLE)
        beside.rename(path)
        return
    is_new = _make(path, content.mode)
    if content.page_size:
        is_mounted = mounter.huge_pages(path, content.page_size)
    else:
        is_mounted = mounter.tmpfs(path, content.size_bytes)
    if is_mounted or is_new:
        path.chmod(content.mode)
        _own(path, fs_group, _WRITABLE)


def _files(path: Path, content: FileSet, mounter: Mounter, fs_group: int | None, stamp: float) -> None:
    _make(path, 0o777)
    if content.in_memory:
        mounter.tmpfs(path, content.size_bytes)
    for name in content.nested:
        (path / name).mkdir(parents=True, exist_ok=True, mode=0o755)
    atomic.replace(path, content.files, stamp, lambda directory: _own(directory, fs_group, _READABLE))


def _make(path: Path, mode: int) -> bool:
    """Make a directory with exactly this mode; whether it was missing."""
    if path.is_dir():
        return False
    path.mkdir(parents=True)
    path.chmod(mode)
    return True


def _own(directory: Path, group: int | None, mask: int) -> None:
    """Give the volume to the pod's group, from the leaves up."""
    if group is None:
        return
    for path in (*_below(directory), directory):
        os.chown(path, -1, group, follow_symlinks=False)
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) | mask | (_ENTER if stat.S_ISDIR(mode) else 0))


def _below(directory: Path) -> Iterator[Path]:
    for root, directories, files in os.walk(directory, topdown=False):
        for name in (*files, *directories):
            yield Path(root) / name
