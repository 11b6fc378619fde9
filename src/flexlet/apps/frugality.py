"""What keeps a process small and quick that runs for months on somebody else's machine.

An agent has a handful of blocking things to do at a time, however many CPUs there are, and what it has loaded at
its start stays until its end. So it needs few threads, and nobody has to look through what will never be garbage:
on a slow machine a full collection of that takes longer than a resize.
"""

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from flexlet.apps.eventloop import new_loop

_THREADS: Final = 8


def frugal_loop() -> asyncio.AbstractEventLoop:
    """An event loop that does its blocking work in few threads."""
    loop = new_loop()
    loop.set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="blocking"))
    return loop


def settle() -> None:
    """The start is over: what is there now stays, and is not looked through again for garbage."""
    gc.collect()
    gc.freeze()
