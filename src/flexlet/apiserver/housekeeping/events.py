"""Events are kept for an hour after they were last seen, then removed: they tell of now, not of history."""

import contextlib
from functools import partial
from typing import Any, Final

import msgspec

from flexlet.api import age
from flexlet.api.status import ApiError
from flexlet.apiserver.housekeeping.isolation import Isolation, key_of
from flexlet.core.faults import Faults
from flexlet.errors import InputError
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import EVENTS, Cluster

KEPT_S: Final = 3600.0
LOOK_S: Final = 60.0


async def expire(cluster: Cluster, clock: Clock, faults: Faults | None = None) -> None:
    """Remove what is too old, every minute, until cancelled."""
    isolation = Isolation("events", clock, faults)

    async def look() -> None:
        await expire_once(cluster, clock.now(), isolation)

    await isolation.repeat(EVENTS.plural, look, LOOK_S)


async def expire_once(cluster: Cluster, now: float, isolation: Isolation) -> int:
    """Remove what is too old now; how many there were."""
    old = 0

    async def look_at(raw: bytes) -> None:
        nonlocal old
        event = msgspec.json.decode(raw)
        if now - last_seen(event) > KEPT_S:
            old += 1
            await _remove(cluster, event["metadata"])

    for raw in (await cluster.list(EVENTS)).items:
        await isolation.attempt(key_of(raw), partial(look_at, raw))
    return old


async def _remove(cluster: Cluster, metadata: dict[str, Any]) -> None:
    options = {"preconditions": {"uid": metadata["uid"]}}
    with contextlib.suppress(ApiError):
        await cluster.delete(EVENTS, metadata["namespace"], metadata["name"], options)


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
