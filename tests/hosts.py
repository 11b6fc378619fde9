"""Machines written down as text: ``tests/data/hosts/*.txt``, one ``== /path`` and then what the file says."""

from pathlib import Path

from flexlet.core.machine.snapshot import Filesystem, Snapshot

STORAGE = "/var/lib/kubelet"

_DATA = Path(__file__).parent / "data" / "hosts"


def snapshot(name: str) -> Snapshot:
    """What a sweep over the machine would read."""
    head, *files = (_DATA / f"{name}.txt").read_text().split("== ")
    facts = [line.split(": ") for line in head.splitlines()]
    sizes = [value.split() for key, value in facts if key == "filesystem"]
    return Snapshot(
        texts=dict(text.split("\n", 1) for text in files),
        filesystems={path: Filesystem(capacity=int(size)) for path, size in sizes},
        architecture=next(value for key, value in facts if key == "architecture"),
    )


def tree(name: str, root: Path) -> Path:
    """The machine's files below `root`; an empty file stands for a directory."""
    for path, text in snapshot(name).texts.items():
        place = root / path.lstrip("/")
        if text:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        else:
            place.mkdir(parents=True, exist_ok=True)
    return root
