"""Disks before QEMU opens them: missing ones are made, and the format of what came in an image is read.

The format is looked at only where nothing that the guest writes can be there: a guest could otherwise make a raw
disk look like one that begins in another file of the host.
"""

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from flexlet.adapters.qemu.binary import Qemu
from flexlet.core.vm.guest import Disk
from flexlet.errors import ConfigError, HostError

_QCOW2: Final = b"QFI\xfb"


async def prepared(qemu: Qemu, disks: Iterable[Disk]) -> tuple[Disk, ...]:
    """The disks, each of them there; ConfigError for one that is missing and not to be made."""
    return tuple([await _prepared(qemu, disk) for disk in disks])


async def _prepared(qemu: Qemu, disk: Disk) -> Disk:
    if not _exists(disk):
        if not disk.create:
            raise ConfigError(f"disk {disk.name}: there is no {disk.path}")
        await _make(qemu, Path(disk.path), disk)
    if disk.is_snapshot or disk.is_readonly:
        return msgspec.structs.replace(disk, format=_format(Path(disk.path)))
    return disk


def _exists(disk: Disk) -> bool:
    return Path(disk.path).exists()


async def _make(qemu: Qemu, path: Path, disk: Disk) -> None:
    """Under another name first: a disk is complete or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.new")
    if disk.format == "raw":
        half.touch()
        os.truncate(half, disk.create)
    else:
        await _run(qemu, "create", "-q", "-f", disk.format, str(half), str(disk.create))
    half.rename(path)


def _format(path: Path) -> str:
    with path.open("rb") as file:
        return "qcow2" if file.read(len(_QCOW2)) == _QCOW2 else "raw"


async def _run(qemu: Qemu, *words: str) -> None:
    process = await asyncio.create_subprocess_exec(qemu.image, *words, stderr=asyncio.subprocess.PIPE)
    complaint = (await process.communicate())[1]
    if process.returncode:
        raise HostError(f"qemu-img {' '.join(words)}: {complaint.decode(errors='replace').strip()}")
