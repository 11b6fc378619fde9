"""Which QEMU there is, and whether it can do what the lab needs."""

import asyncio
import re
import shutil
from pathlib import Path
from typing import Final

import msgspec

from flexlet.errors import ConfigError

PROGRAM: Final = "qemu-system-x86_64"
IMAGE_PROGRAM: Final = "qemu-img"
# Debian 12's 7.2 aborts when a CPU is plugged again after it was unplugged.
OLDEST: Final = 10
_HOW: Final = (
    "Debian 13 and Ubuntu 25.04 have it: apt install qemu-system-x86 qemu-utils; Debian 12 has it in"
    " bookworm-backports: apt install -t bookworm-backports qemu-system-x86 qemu-utils"
)


class Qemu(msgspec.Struct, frozen=True):
    """The programs, and the version as QEMU says it."""

    system: Path
    image: Path
    version: str


async def find() -> Qemu:
    """A QEMU that is new enough, or ConfigError saying how to get one."""
    system, image = _which(PROGRAM), _which(IMAGE_PROGRAM)
    process = await asyncio.create_subprocess_exec(system, "--version", stdout=asyncio.subprocess.PIPE)
    text = (await process.communicate())[0].decode(errors="replace")
    return Qemu(system, image, checked(text))


def checked(text: str) -> str:
    """The version in what ``--version`` prints, if it is new enough."""
    found = re.search(r"version (\d+)\.(\S+)", text)
    if not found:
        raise ConfigError(f"cannot read the version of {PROGRAM} in {text[:80]!r}")
    version = f"{found[1]}.{found[2]}"
    if int(found[1]) < OLDEST:
        raise ConfigError(f"{PROGRAM} is {version}, and {OLDEST} or newer is needed for hot plug. {_HOW}")
    return version


def _which(program: str) -> Path:
    found = shutil.which(program)
    if found is None:
        raise ConfigError(f"{program} is not installed. {_HOW}")
    return Path(found)
