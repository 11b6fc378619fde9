"""Files that are whole or absent, and that only their owner may read."""

import os
import secrets
from pathlib import Path


def write(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Put `data` at `path`, durably; a reader sees the old file or the new one."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def link(target: Path, path: Path, spare: Path) -> None:
    """Let `path` point to `target` from one moment to the next; `spare` is the new link's first name."""
    spare.unlink(missing_ok=True)
    spare.symlink_to(target)
    spare.replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make names durable, too."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
