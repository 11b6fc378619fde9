"""A command in the guest joined to our own terminal: input, output, window size, exit code."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import termios
import tty as terminals
from collections.abc import AsyncIterator, Iterator, Sequence

from flexlet.adapters.guest.client import Guest
from flexlet.adapters.guest.session import Running

CHUNK = 32 * 1024


async def run(guest: Guest, words: Sequence[str], *, stdin: bool, tty: bool) -> int:
    """Run a command to its end and return its exit code."""
    size = shutil.get_terminal_size()
    env = {"TERM": os.environ.get("TERM", "dumb")} if tty else {}
    running = await guest.start(words, env=env, tty=(size.lines, size.columns) if tty else None)
    with _raw() if tty else contextlib.nullcontext():
        feeding = asyncio.create_task(_feed(running, stdin))
        window = asyncio.create_task(_follow_window(running)) if tty else None
        try:
            async for stream, data in running.output():
                target = sys.stdout if stream == "out" else sys.stderr
                target.buffer.write(data)
                target.flush()
        finally:
            for task in filter(None, (feeding, window)):
                task.cancel()
            await asyncio.gather(*filter(None, (feeding, window)), return_exceptions=True)
    return await running.wait()


async def _feed(running: Running, stdin: bool) -> None:
    if stdin:
        async for data in _input():
            await running.write(data)
    await running.finish_input()


async def _input() -> AsyncIterator[bytes]:
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


async def _follow_window(running: Running) -> None:
    changed = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, changed.set)
    try:
        while await changed.wait():
            changed.clear()
            size = shutil.get_terminal_size()
            await running.resize(size.lines, size.columns)
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)


@contextlib.contextmanager
def _raw() -> Iterator[None]:
    """Pass every key on, Ctrl-C included; the terminal is put back as it was."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    terminals.setraw(descriptor, termios.TCSANOW)  # what was typed ahead is kept
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
