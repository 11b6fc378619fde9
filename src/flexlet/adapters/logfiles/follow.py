"""A log as a stream of bytes, to its end or for as long as its container runs.

A follower wakes when something happens in the log's directory and once a second besides, for inotify may be
exhausted and a container may end without writing. Once the container has ended, what the file holds is read to
the end and no further.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

from flexlet.adapters.logfiles.reader import LogReader
from flexlet.core.logs.options import LogOptions

CHECK_S: Final = 1.0


async def stream(path: Path, options: LogOptions, is_running: Callable[[], bool]) -> AsyncGenerator[bytes, None]:
    """What `options` ask for of the log at `path`; HostError if it cannot be read."""
    if options.follow:
        await asyncio.to_thread(import_module, "asyncinotify")  # 2 MiB, and hardly any node has a follower
    reader = await asyncio.to_thread(LogReader.open, path, options)
    with contextlib.closing(reader), _woken_by(path.parent if options.follow else None) as wait:
        has_ended = False
        while not reader.is_finished:
            data = await asyncio.to_thread(reader.read)
            if data:
                yield data
            if not reader.is_at_end:
                continue
            if not options.follow:
                yield reader.read_rest()
                return
            if has_ended:
                return
            has_ended = not is_running()
            if not has_ended:
                await wait()


@contextlib.contextmanager
def _woken_by(directory: Path | None) -> Iterator[Callable[[], Awaitable[None]]]:
    """Waiting until something happens in a directory, or for a second."""
    happened = asyncio.Event()

    async def wait() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CHECK_S):
                await happened.wait()
        happened.clear()

    with contextlib.ExitStack() as stack:
        if directory is not None:
            with contextlib.suppress(OSError):  # no inotify left: the second must do
                stack.enter_context(_noticing(directory, happened))
        yield wait


@contextlib.contextmanager
def _noticing(directory: Path, happened: asyncio.Event) -> Iterator[None]:
    from asyncinotify import Inotify, Mask

    with Inotify() as inotify:
        inotify.add_watch(directory, Mask.MODIFY | Mask.CREATE | Mask.MOVE)
        loop = asyncio.get_running_loop()

        def notice() -> None:
            os.read(inotify.fd, 1 << 16)  # that something happened is enough
            happened.set()

        loop.add_reader(inotify.fd, notice)
        try:
            yield
        finally:
            loop.remove_reader(inotify.fd)
