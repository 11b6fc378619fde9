"""stdin and stdout of a process that was started in the pod, as the two ends of one of the launcher's sockets.

It ends when the launcher hangs up. When stdin ends nothing more is told, but what comes back is still shown until
the reader has gone: ``kubectl exec`` without ``-i`` has no stdin at all.
"""

import asyncio
import contextlib
import os
import sys
import termios
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flexlet.adapters import unixsocket
from flexlet.errors import HypervisorGone

ESCAPE: Final = b"\x1d"  # Ctrl-]
APPEARS_S: Final = 20.0
_PAUSE_S: Final = 0.1
_CHUNK: Final = 65536


async def bridged(path: Path, escape: bytes = b"", patience_s: float = APPEARS_S) -> int:
    """Copy both ways until the launcher hangs up, or the escape is typed; HypervisorGone if nobody listens."""
    reader, writer = await _connected(path, patience_s)
    out = asyncio.create_task(_out(reader))
    into = asyncio.create_task(_into(writer, escape))
    try:
        await asyncio.wait((out, into), return_when=asyncio.FIRST_COMPLETED)
        if into.done() and not into.result():
            await out
    finally:
        for task in (out, into):
            task.cancel()
        writer.close()
    return 0


@contextlib.contextmanager
def raw_terminal() -> Iterator[None]:
    """Keys go through as they are typed, if stdin is a terminal."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setraw(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


async def _connected(path: Path, patience_s: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A launcher that is just starting has no socket yet."""
    deadline = asyncio.get_running_loop().time() + patience_s
    while True:
        try:
            return await asyncio.open_unix_connection(sock=unixsocket.connected(path))
        except OSError as error:
            if asyncio.get_running_loop().time() >= deadline:
                raise HypervisorGone(f"no launcher answers at {path}: {error}") from error
        await asyncio.sleep(_PAUSE_S)


async def _out(reader: asyncio.StreamReader) -> None:
    """A reader that has gone ends this, and us."""
    while data := await reader.read(_CHUNK):
        while data:
            data = data[await asyncio.to_thread(os.write, sys.stdout.fileno(), data) :]


async def _into(writer: asyncio.StreamWriter, escape: bytes) -> bool:
    """Whether the escape was typed; else stdin has ended."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while data := await reader.read(_CHUNK):
        before, found, _ = data.partition(escape) if escape else (data, b"", b"")
        writer.write(before)
        await writer.drain()
        if found:
            return True
    return False
