"""A command in the guest joined to our own terminal: input, output, window size, exit code."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Sequence

from flexlet.adapters.guest.client import Guest
from flexlet.adapters.guest.session import Running
from flexlet.cli.keyboard import raw, typed


async def run(guest: Guest, words: Sequence[str], *, stdin: bool, tty: bool) -> int:
    """Run a command to its end and return its exit code."""
    size = shutil.get_terminal_size()
    env = {"TERM": os.environ.get("TERM", "dumb")} if tty else {}
    running = await guest.start(words, env=env, tty=(size.lines, size.columns) if tty else None)
    with raw() if tty else contextlib.nullcontext():
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
        async for data in typed():
            await running.write(data)
    await running.finish_input()


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
