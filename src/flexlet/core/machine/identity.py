"""Who the machine is: ids of the machine, its hardware and its boot, and the names of kernel and system."""

import re
from typing import Final

from flexlet.core.machine import sources
from flexlet.core.machine.machine import Identity
from flexlet.core.machine.snapshot import Snapshot

_PRETTY_NAME: Final = re.compile(r"PRETTY_NAME=(.*)")
_ARCHITECTURES: Final = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "arm",
    "i686": "386",
    "loongarch64": "loong64",
}


def identity(snapshot: Snapshot) -> Identity:
    """What the machine says of itself; what it does not say is empty, and its system ``Unknown``."""
    return Identity(
        machine_id=_first(snapshot, sources.MACHINE_ID) or "",
        system_uuid=_first(snapshot, sources.SYSTEM_UUID) or "",
        boot_id=snapshot.text(sources.BOOT_ID) or "",
        kernel=snapshot.text(sources.KERNEL) or "Unknown",
        os_image=_os_image(_first(snapshot, sources.OS_RELEASE)),
        architecture=_ARCHITECTURES.get(snapshot.architecture, snapshot.architecture),
    )


def _first(snapshot: Snapshot, paths: tuple[str, ...]) -> str | None:
    """The text of the first file that exists; firmware ends its texts with a zero byte."""
    found = next((text for path in paths if (text := snapshot.text(path)) is not None), None)
    return None if found is None else found.rstrip("\0").strip()


def _os_image(release: str | None) -> str:
    if release is None:
        return "Unknown"
    named = _PRETTY_NAME.search(release)
    return named[1].strip('"') if named is not None else "Linux"
