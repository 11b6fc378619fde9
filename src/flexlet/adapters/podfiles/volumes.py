"""Lay a pod's volumes out on disk."""

import os
from pathlib import Path

from flexlet.adapters.podfiles import atomic, hostpath
from flexlet.adapters.podfiles.mounting import Mounter
from flexlet.core.agent.containers.contents import EmptyDirectory, FileSet, HostDirectory, VolumeContent


def lay_out(volumes: Path, content: VolumeContent, mounter: Mounter, fs_group: int | None, stamp: float) -> None:
    """Make one volume, or bring it up to date."""
    match content:
        case EmptyDirectory():
            path = volumes / "kubernetes.io~empty-dir" / content.name
            if _make(path, content.mode) and content.in_memory:
                mounter.tmpfs(path, content.size_bytes)
                path.chmod(content.mode)
            _own(path, fs_group, recursive=False)
        case HostDirectory():
            hostpath.ensure(content.path, content.type)
        case FileSet():
            path = volumes / f"kubernetes.io~{content.plugin}" / content.name
            _make(path, 0o777)
            if content.in_memory:
                mounter.tmpfs(path, content.size_bytes)
                path.chmod(0o1777)
            if atomic.replace(path, content.files, stamp):
                _own(path, fs_group, recursive=True)


def _make(path: Path, mode: int) -> bool:
    """Make a directory with exactly this mode; whether it was missing."""
    if path.is_dir():
        return False
    path.mkdir(parents=True)
    path.chmod(mode)
    return True


def _own(path: Path, group: int | None, *, recursive: bool) -> None:
    """Give the volume to the pod's group: readable, and new files in it stay the group's."""
    if group is None:
        return
    found = [path, *(each for each in path.rglob("*"))] if recursive else [path]
    for each in found:
        os.chown(each, -1, group, follow_symlinks=False)
        if each.is_symlink():
            continue
        mode = each.stat().st_mode
        each.chmod(mode | (0o2770 if each.is_dir() else 0o440))
