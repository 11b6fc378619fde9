"""``/logs/``: files of the machine below /var/log, read only.

Links are followed only as long as they stay below it: pods may write there, and must not be able to show the
node's other files to whoever may read logs.
"""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final
from urllib.parse import quote

from flexlet.adapters.nodeserver import wire
from flexlet.adapters.nodeserver.connection import Reply, Streamed
from flexlet.adapters.nodeserver.wire import Answer

_BLOCK: Final = 1 << 16
_NOT_FOUND: Final = wire.error(404, "404 page not found")


def answer(root: Path, parts: tuple[str, ...]) -> Reply:
    """A file, or what a directory holds. Blocks: belongs into a thread."""
    base = root.resolve()
    try:
        path = base.joinpath(*(part for part in parts if part)).resolve(strict=True)
        if not path.is_relative_to(base):
            return _NOT_FOUND
        if path.is_dir():
            return Answer(body=_listing(path), content_type="text/html; charset=utf-8")
        return Streamed(_content(path)) if path.is_file() else _NOT_FOUND
    except (OSError, ValueError):
        return _NOT_FOUND


def _listing(directory: Path) -> bytes:
    import html  # a table of two thousand entities, for a page that hardly anybody opens

    names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in directory.iterdir())
    links = "".join(f'<a href="{quote(name)}">{html.escape(name)}</a>\n' for name in names)
    return f"<!doctype html>\n<pre>\n{links}</pre>\n".encode(errors="surrogateescape")


async def _content(path: Path) -> AsyncGenerator[bytes, None]:
    file = await asyncio.to_thread(path.open, "rb")
    with file:
        while data := await asyncio.to_thread(file.read, _BLOCK):
            yield data
