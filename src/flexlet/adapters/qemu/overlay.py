"""A machine's own disk: what it has changed, on top of the image that all share."""

import asyncio
import json
from pathlib import Path

from flexlet.adapters.qemu.binary import Qemu
from flexlet.errors import HostError


async def create(qemu: Qemu, path: Path, base: Path) -> None:
    """Make an empty overlay of `base`."""
    below = "qcow2" if base.suffix == ".qcow2" else "raw"
    await _run(qemu, "create", "-q", "-f", "qcow2", "-F", below, "-b", str(base), str(path))


async def base_of(qemu: Qemu, path: Path) -> Path | None:
    """The image under an overlay; None if there is no overlay or it cannot be read."""
    try:
        answer = json.loads(await _run(qemu, "info", "-U", "--output=json", str(path)))
    except (HostError, ValueError):
        return None
    return Path(answer["full-backing-filename"]) if "full-backing-filename" in answer else None


async def _run(qemu: Qemu, *words: str) -> bytes:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(qemu.image, *words, stdout=pipe, stderr=pipe)
    output, complaint = await process.communicate()
    if process.returncode:
        raise HostError(f"qemu-img {' '.join(words)}: {complaint.decode(errors='replace').strip()}")
    return output
