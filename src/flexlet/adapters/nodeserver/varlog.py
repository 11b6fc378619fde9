"""``/logs/``: files of the machine below /var/log, read only.

Links are followed only as long as they stay below it: pods may write there, and must not be able to show the
node's other files to whoever may read logs. What was opened is what is shown, whatever happens to its path then.
"""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import quote

from flexlet.adapters import beneath
from flexlet.adapters.nodeserver import wire
from flexlet.adapters.nodeserver.connection import Reply, Streamed
from flexlet.adapters.nodeserver.wire import Answer

_BLOCK: Final = 1 << 16
_NOT_FOUND: Final = wire.error(404, "404 page not found")


def answer(root: Path, parts: tuple[str, ...]) -> Reply:
    """A file, or what a directory holds. Blocks: belongs into a thread."""
    try:
        handle = beneath.open_within(root, parts)
    except (OSError, ValueError):
        return _NOT_FOUND
    if not stat.S_ISDIR(os.fstat(handle).st_mode):
        return Streamed(_content(os.fdopen(handle, "rb", buffering=0)))
    try:
        return Answer(body=_listing(handle), content_type="text/html; charset=utf-8")
    except OSError:
        return _NOT_FOUND
    finally:
        os.close(handle)


def _listing(directory: int) -> bytes:
    import html  # a table of two thousand entities, for a page that hardly anybody opens

    with os.scandir(directory) as entries:
        names = sorted(f"{each.name}/" if each.is_dir(follow_symlinks=False) else each.name for each in entries)
    links = "".join(f'<a href="{quote(name)}">{html.escape(name)}</a>\n' for name in names)
    return f"<!doctype html>\n<pre>\n{links}</pre>\n".encode(errors="surrogateescape")


async def _content(file: BinaryIO) -> AsyncGenerator[bytes, None]:
    with file:
        while data := await asyncio.to_thread(file.read, _BLOCK):
            yield data
