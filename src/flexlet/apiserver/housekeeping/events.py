"""Events are kept for an hour after they were last seen, then removed: they tell of now, not of history."""

import contextlib
from typing import Any, Final

import msgspec

from flexlet.api import age
from flexlet.api.status import ApiError
from flexlet.errors import InputError
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import EVENTS, Cluster

KEPT_S: Final = 3600.0
LOOK_S: Final = 60.0


async def expire(cluster: Cluster, clock: Clock) -> None:
    """Remove what is too old, every minute, until cancelled."""
    while True:
        with contextlib.suppress(ApiError):
            await expire_once(cluster, clock.now())
        await clock.sleep(LOOK_S)


async def expire_once(cluster: Cluster, now: float) -> int:
    """Remove what is too old now; how many there were."""
    listing = await cluster.list(EVENTS)
    old = [event for raw in listing.items if now - last_seen(event := msgspec.json.decode(raw)) > KEPT_S]
    for event in old:
        meta = event["metadata"]
        with contextlib.suppress(ApiError):
            await cluster.delete(EVENTS, meta["namespace"], meta["name"], {"preconditions": {"uid": meta["uid"]}})
    return len(old)


def last_seen(event: dict[str, Any]) -> float:
    """When the event was last added to, in seconds since the epoch; 0 if it does not say."""
    stamps = (
        event["metadata"].get("creationTimestamp"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        (event.get("series") or {}).get("lastObservedTime"),
    )
    return max((_seconds(stamp) for stamp in stamps if stamp), default=0.0)


def _seconds(stamp: str) -> float:
    try:
        moment = age.parse_micro(stamp) if "." in stamp else age.parse(stamp)
    except InputError:
        return 0.0
    return moment.timestamp()
