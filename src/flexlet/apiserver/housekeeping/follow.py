"""Following a collection: everything that is there, then every change, for as long as the server runs.

Level-triggered: whatever goes wrong (a lost watch, a refused write) ends in listing again, so a handler may fail
and need not remember anything. One object at a time, in the order of the collection.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from flexlet.api.status import ApiError
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref

RETRY_S: Final = 1.0

Handle: TypeAlias = Callable[[str, bytes], Awaitable[None]]
"""Takes ADDED, MODIFIED or DELETED and the object."""

log: Final = logging.getLogger(__name__)


async def follow(cluster: Cluster, ref: Ref, handle: Handle, clock: Clock) -> None:
    """Hand every object and every change to `handle` until cancelled."""
    while True:
        try:
            await follow_once(cluster, ref, handle)
        except ApiError as error:
            log.warning("listing again", extra={"resource": ref.plural, "error": str(error)})
        await clock.sleep(RETRY_S)


async def follow_once(cluster: Cluster, ref: Ref, handle: Handle) -> None:
    """List, then watch until the watch ends."""
    listing = await cluster.list(ref)
    for item in listing.items:
        await handle("ADDED", item)
    async for batch in cluster.watch(ref, listing.resource_version):
        for change in batch:
            await handle(change.type, change.object)
