"""Compiling for the guest with the guest's own Python, on the host.

Separate because of how it runs: straight out of the image's folder, through the image's own loader and libraries,
so that neither root nor a Python 3.13 on the host is needed. Compiling under emulation would cost every boot many
seconds.
"""

import filecmp
import os
from collections.abc import Sequence
from pathlib import Path

from flexlet.adapters.image import program
from flexlet.errors import HostError

_SITE = "/opt/flexlet/site"
_TAG = "cpython-313"
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
# What must be kept of an image's tree for its Python to run here.
FILES = (
    "usr/bin/python3.13",
    "usr/lib/python3.13",
    *(
        f"{_LIBRARIES}/{name}"
        for name in ("ld-linux-x86-64.so.2", "libc.so.6", "libexpat.so.1", "libm.so.6", "libz.so.1")
    ),
)


def compile_all(image: Path, sources: Sequence[Path], site: Path) -> None:
    """Compile sources below `site`; the guest never compares times, since the disk never changes."""
    if not sources:
        return
    python = image / "python"
    libraries = python / _LIBRARIES
    loader = [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries)]
    compileall = [str(python / "usr/bin/python3.13"), "-S", "-m", "compileall", "-q"]
    options = ["--invalidation-mode", "unchecked-hash", "-s", str(site), "-p", _SITE]
    environment = {"PYTHONHOME": str(python / "usr"), "PATH": os.defpath}
    # 1: some packages ship files for other Pythons; a file that does not compile fails where it is imported.
    program.run([*loader, *compileall, *options, *map(str, sources)], env=environment, accept={0, 1})
    if not any(compiled(source).exists() for source in sources):
        raise HostError(f"the Python of the image compiles nothing: remove {image} to have it built again")


def reuse(package: Path, before: Path) -> list[Path]:
    """Take over what was compiled from equal sources; the sources that are left to compile."""
    sources = sorted(package.rglob("*.py"))
    return [source for source in sources if not _reused(source, before / source.relative_to(package))]


def _reused(source: Path, earlier: Path) -> bool:
    compiled(source).parent.mkdir(exist_ok=True)
    try:
        if not filecmp.cmp(source, earlier, shallow=False):
            return False
        compiled(source).hardlink_to(compiled(earlier))
    except FileNotFoundError:  # never there, or another process is just clearing it away
        return False
    return True


def compiled(source: Path) -> Path:
    """Where Python looks for what was compiled from a source."""
    return source.parent / "__pycache__" / f"{source.stem}.{_TAG}.pyc"
