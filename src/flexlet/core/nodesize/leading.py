"""Who of several controllers leads: the holder of a Lease that is renewed in time.

Times of other machines are not trusted: a lease counts as abandoned when it has not changed for its own duration
on our clock.
"""

from typing import Any, Final

import msgspec

from flexlet.api import age, decode
from flexlet.api.meta import KubeStruct, ObjectMeta

DURATION_S: Final = 15
RENEW_S: Final = 2.0
DEADLINE_S: Final = 10.0
"""A leader that could not renew for this long stops, well before another may begin."""


class LeaseSpec(KubeStruct, frozen=True, kw_only=True):
    """The record."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(KubeStruct, frozen=True, kw_only=True):
    """A lease."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()


class Watched(msgspec.Struct, frozen=True):
    """A record and when we first saw it so."""

    spec: LeaseSpec
    since: float


def read(raw: bytes) -> Lease:
    """A lease from its JSON."""
    return decode.from_json(raw, Lease)


def watched(before: Watched | None, spec: LeaseSpec, now: float) -> Watched:
    """The record as seen now; one that did not change keeps its time."""
    return before if before is not None and before.spec == spec else Watched(spec, now)


def may_take(seen: Watched, me: str, now: float) -> bool:
    """Whether the lease is ours, nobody's, or abandoned."""
    holder = seen.spec.holder_identity or ""
    return holder in {"", me} or now >= seen.since + (seen.spec.lease_duration_seconds or DURATION_S)


def claim(spec: LeaseSpec, me: str, now: float) -> dict[str, Any]:
    """The spec by which we hold it."""
    stamp = age.format_micro(now)
    is_mine = spec.holder_identity == me
    return {
        "holderIdentity": me,
        "leaseDurationSeconds": DURATION_S,
        "acquireTime": spec.acquire_time if is_mine and spec.acquire_time else stamp,
        "renewTime": stamp,
        "leaseTransitions": (spec.lease_transitions or 0) + (0 if is_mine else 1),
    }
