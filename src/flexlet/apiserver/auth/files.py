"""Files that only their owner may read, complete or absent: keys, certificates, kubeconfigs."""

import os
import secrets
from pathlib import Path


def write_private(path: Path, data: bytes) -> None:
    """Put `data` at `path` with mode 0600; a reader sees the old file or the new one, never a part."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
