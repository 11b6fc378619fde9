"""Following a collection: everything that is there, then every change, for as long as the server runs.

Level-triggered: a lost watch ends in listing again, so a handler need not remember anything. One object at a time,
in the order of the collection. A handler may fail: its object is tried again after a back-off (`isolation`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeAlias

from flexlet.apiserver.housekeeping.isolation import Isolation, key_of
from flexlet.ports.cluster import Cluster, Ref

RETRY_S: Final = 1.0

Handle: TypeAlias = Callable[[str, bytes], Awaitable[None]]
"""Takes ADDED, MODIFIED or DELETED and the object."""


async def follow(cluster: Cluster, ref: Ref, handle: Handle, isolation: Isolation) -> None:
    """Hand every object and every change to `handle` until cancelled; faults stay with their objects."""

    async def isolated(event: str, value: bytes) -> None:
        key = f"{ref.plural}/{key_of(value)}"
        if event == "DELETED":
            isolation.forget(key)
        await isolation.handle(key, partial(handle, event, value))

    async with asyncio.TaskGroup() as group:
        group.create_task(isolation.retry())
        once = partial(follow_once, cluster, ref, isolated)
        await isolation.repeat(ref.plural, once, RETRY_S)


async def follow_once(cluster: Cluster, ref: Ref, handle: Handle) -> None:
    """List, then watch until the watch ends."""
    listing = await cluster.list(ref)
    for item in listing.items:
        await handle("ADDED", item)
    async for batch in cluster.watch(ref, listing.resource_version):
        for change in batch:
            await handle(change.type, change.object)
