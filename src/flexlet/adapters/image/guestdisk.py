"""The read-only disk beside a machine's own: what the guest runs before any of our Python, and how a disk is made.

Shared by the code layer, which adds our Python to it, and by the one boot of an image while it is built.
"""

import hashlib
import os
import shutil
from importlib.resources import files
from pathlib import Path

from flexlet.adapters.image import oci, program

_BLOCK = 4096
_OPTIONS = ("-O", "^has_journal,^metadata_csum,^64bit,^resize_inode", "-m", "0")


def fill(tree: Path, image: Path) -> None:
    """Put the guest's scripts and the container images into a folder."""
    shutil.copytree(str(files(__package__).joinpath("files/guest")), tree / "guest")
    for script in (tree / "guest").iterdir():
        script.chmod(0o755)
    (tree / "images").mkdir()
    [archive] = oci.write_archives(tree / "images", image / "busybox")
    (tree / "images/id").write_text(hashlib.sha256(archive.read_bytes()).hexdigest())


def make(tree: Path, disk: Path) -> None:
    """Make a disk that is as big as its contents."""
    entries = [Path(folder, name) for folder, inner, names in os.walk(tree) for name in (*inner, *names)]
    blocks = sum(path.lstat().st_size // _BLOCK + 2 for path in entries)
    size, inodes = str(blocks * 11 // 10 + 1024), str(len(entries) + 64)
    command = [
        program.find("mke2fs"),
        "-q",
        "-t",
        "ext4",
        "-b",
        str(_BLOCK),
        "-N",
        inodes,
        *_OPTIONS,
    ]
    program.run([*command, "-d", str(tree), str(disk), size])
