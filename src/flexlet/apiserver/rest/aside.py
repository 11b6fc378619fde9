"""Work on large objects, away from the event loop.

Reading, defaulting and validating an object takes time in proportion to its size, and more for hostile ones. What
depends on the object alone is done in a thread, one object at a time: the event loop keeps answering, and gets
most of the processor. What looks at the store stays on the loop.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

LARGE_BYTES: Final = 64 * 1024
_THREAD: Final = ThreadPoolExecutor(1, thread_name_prefix="objects")

T = TypeVar("T")


async def aside(size: int, work: Callable[[], T]) -> T:
    """The result of work on an object of this many bytes; on a large one it takes its turn in the thread."""
    if size <= LARGE_BYTES:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work)
