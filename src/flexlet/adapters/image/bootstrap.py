"""Debian packages into one tar archive of a root file system, with mmdebstrap.

Separate because all talking to Debian happens here. mmdebstrap finds the way that this host permits: as root, or
in a user namespace. Addresses and proxies are the host's own.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from flexlet.adapters.image import mirror, program
from flexlet.adapters.image.progress import Progress
from flexlet.errors import HostError

# mmdebstrap's words for its steps, and ours.
_STEPS = {
    "running apt-get update": "reading Debian's package lists",
    "downloading packages with apt": "downloading packages",
    "extracting archives": "unpacking packages",
    "installing essential packages": "installing the base",
    "installing remaining packages inside the chroot": "installing the rest",
}


class Userland(NamedTuple):
    """What is to be installed: the packages of a suite, and a script that is run at the end."""

    what: str
    """In words, for people."""
    suite: str
    packages: tuple[str, ...]
    excluded: tuple[str, ...]
    hook: str
    variables: Mapping[str, str] = {}
    """For the script."""
    other_suites: tuple[str, ...] = ()
    """From which the script takes more."""


def run(userland: Userland, archive: Path, progress: Progress) -> None:
    """Run mmdebstrap; its steps are the progress, its last words the error."""
    environment = {**os.environ, **userland.variables}
    command = [
        program.find("mmdebstrap"),
        *_options(userland),
        userland.suite,
        str(archive),
        *_sources(userland),
    ]
    said: list[str] = []
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        for line in process.stderr or ():
            said.append(line.rstrip())
            if step := _STEPS.get(line[3:].rstrip(".\n")):
                progress(f"  {step}")
    if process.returncode:
        last = "\n".join(said[-15:])
        raise HostError(f"mmdebstrap could not build {userland.what} (exit code {process.returncode}):\n{last}")


def _options(userland: Userland) -> Iterator[str]:
    yield from ["--variant=essential", "--format=tar", f"--include={','.join(userland.packages)}"]
    yield from (f"--dpkgopt=path-exclude={pattern}" for pattern in userland.excluded)
    yield from ['--aptopt=APT::Sandbox::User "root"', '--aptopt=Acquire::Languages "none"']
    yield from (f"--aptopt={option}" for option in _apt_options())
    # The text instead of a path: without root, another user runs it and may not enter the caller's folders.
    yield f"--customize-hook={userland.hook}"
    if mirror.of_host() is None:
        # mmdebstrap knows an address of its own; other suites are at the same one.
        for suite in userland.other_suites:
            yield f'--setup-hook=sed -i "p;s/ {userland.suite} / {suite} /" "$1/etc/apt/sources.list"'


def _sources(userland: Userland) -> list[str]:
    host = mirror.of_host()
    return [host.line(suite) for suite in (userland.suite, *userland.other_suites)] if host else []


def _apt_options() -> list[str]:
    """The host's ways through proxies; mmdebstrap reads no apt.conf but its own."""
    command = ["apt-config", "dump", "--format", '%f "%v"%n', "Acquire::http", "Acquire::https"]
    return [line for line in program.run(command).splitlines() if not line.endswith('""')]
