"""The event loop that long-running commands run on.

Alone in its file: an agent that only wants a loop must not load the API server with it.
"""

import asyncio


def new_loop() -> asyncio.AbstractEventLoop:
    """A loop of uvloop where it is installed, because it nearly doubles requests per second; else asyncio's."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
