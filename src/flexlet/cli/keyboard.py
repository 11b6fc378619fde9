"""Our own terminal, as programs that pass it on need it: key by key, and as it was afterwards."""

import asyncio
import contextlib
import os
import sys
import termios
import tty as terminals
from collections.abc import AsyncIterator, Iterator
from typing import Final

CHUNK: Final = 32 * 1024


async def typed() -> AsyncIterator[bytes]:
    """Our input as it comes."""
    descriptor = sys.stdin.fileno()
    while True:
        await _readable(descriptor)
        data = os.read(descriptor, CHUNK)
        if not data:
            return
        yield data


async def _readable(descriptor: int) -> None:
    """Wait until a read does not block; asked anew before each one, for a read changes the answer."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a file: it is always ready, and cannot be waited for
        return
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


@contextlib.contextmanager
def raw() -> Iterator[None]:
    """Pass every key on, Ctrl-C included; the terminal is put back as it was."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    terminals.setraw(descriptor, termios.TCSANOW)  # what was typed ahead is kept
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
