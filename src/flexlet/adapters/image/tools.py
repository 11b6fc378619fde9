"""The programs that a host needs to build and boot node VMs, and how it gets them.

Separate because it is the only place that changes the host. Debian 12's own QEMU (7.2) aborts when a CPU is
plugged again after an unplug, so 10 is the oldest one taken; on Debian 12 it comes from backports, whose entry is
derived from the host's own sources.
"""

import os
import re
from pathlib import Path

from flexlet.adapters.image import mirror, program
from flexlet.adapters.image.progress import Progress
from flexlet.errors import ConfigError

OLDEST_QEMU = 10
_QEMU = "qemu-system-x86"
_PROGRAMS = {"qemu-img": "qemu-utils", "mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs"}
_KEYS = "usr/share/keyrings/debian-archive-keyring.gpg"
_BACKPORTS = {"bookworm": "bookworm-backports"}
_HOST = Path("/")
_ENTRY = Path("etc/apt/sources.list.d/flexlet-backports.list")


def missing(root: Path = _HOST) -> list[str]:
    """Debian packages that building and booting a node VM needs and this host lacks."""
    absent = [package for name, package in _PROGRAMS.items() if not program.find(name)]
    absent += [] if qemu_version() >= OLDEST_QEMU else [_QEMU]
    if not (mirror.codename(root) or (root / _KEYS).exists()):
        absent.append("debian-archive-keyring")
    if os.geteuid() != 0 and not program.find("newuidmap"):
        absent.append("uidmap")
    return sorted(absent)


def qemu_version() -> int:
    """The major version of the installed QEMU, 0 if there is none."""
    qemu = program.find("qemu-system-x86_64")
    said = program.run([qemu, "--version"]) if qemu else ""
    found = re.search(r"version (\d+)", said)
    return int(found[1]) if found else 0


def require(root: Path = _HOST) -> None:
    """Raise ConfigError with the line to type if anything is missing."""
    if absent := missing(root):
        lines = "\n".join(f"  {line}" for line in remedy(absent, root))
        raise ConfigError(
            f"a node VM needs Debian packages that are not installed: {', '.join(absent)}. As root:\n{lines}"
        )


def remedy(absent: list[str], root: Path = _HOST) -> list[str]:
    """The commands, for a person to type as root, that install the packages."""
    suite = _suite_for(absent, root)
    lines = [f"echo '{_entry(suite, root)}' > /{_ENTRY}"] if suite and not mirror.has_suite(suite, root) else []
    target = [f"-t {suite}"] if suite else []
    return [*lines, "apt-get update", " ".join(["apt-get install --no-install-recommends", *target, *absent])]


def install(progress: Progress, root: Path = _HOST) -> None:
    """Install what is missing with apt-get."""
    absent = missing(root)
    if not absent:
        return
    if os.geteuid() != 0 or not program.find("apt-get"):
        require(root)
    suite = _suite_for(absent, root)
    if suite and not mirror.has_suite(suite, root):
        progress(f"adding the suite {suite} to apt's sources as /{_ENTRY}")
        (root / _ENTRY).write_text(f"{_entry(suite, root)}\n")
    progress(f"installing {', '.join(absent)} with apt-get")
    _apt_get("update")
    _apt_get("install", "--yes", "--no-install-recommends", *(["-t", suite] if suite else []), *absent)


def _suite_for(absent: list[str], root: Path) -> str:
    return _BACKPORTS.get(mirror.codename(root), "") if _QEMU in absent else ""


def _entry(suite: str, root: Path) -> str:
    source = mirror.of_host(root)
    if source is None:
        raise ConfigError(
            f"no Debian mirror is configured in /etc/apt: add one with its suite {suite}, then try again"
        )
    return source.line(suite)


def _apt_get(*arguments: str) -> None:
    program.run(["apt-get", "--quiet", *arguments], env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
