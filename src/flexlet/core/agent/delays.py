"""How long to wait before something is tried again.

Two ways of growing: a delay that doubles with every failure, and one that is the same each time but spread, so
that pods which fail together do not retry together. The spread comes from the pod and the moment, not from luck:
the same record decides the same again. The numbers are the kubelet's (pod workers, image and volume back-off).
"""

import zlib
from typing import Final

from flexlet.core.agent.record import Backoff

NETWORK_S: Final = 1.0
LOOK_S: Final = 1.0
SYNC_S: Final = 10.0
REFRESH_S: Final = 60.0
VOLUMES_S: Final = 0.5
LONGEST_VOLUMES_S: Final = 122.0
PULL_S: Final = 10.0
LONGEST_PULL_S: Final = 300.0
CRASH_S: Final = 10.0
FORGOTTEN_AFTER_S: Final = 600.0
"""A back-off that was not needed for so long starts from the beginning."""


def spread(uid: str, subject: str, seconds: float, now: float) -> float:
    """Between one and one and a half times `seconds`."""
    mixed = zlib.crc32(f"{uid}/{subject}/{int(now)}".encode())
    return seconds * (1 + 0.5 * mixed / 0xFFFFFFFF)


def again(uid: str, subject: str, now: float, seconds: float = SYNC_S) -> Backoff:
    """The wait after a failure that does not grow."""
    return Backoff(delay_s=spread(uid, subject, seconds, now), since=now)


def doubled(before: Backoff | None, first: float, longest: float, now: float) -> Backoff:
    """The wait after a failure, twice the one before."""
    delay = min(first, longest) if before is None else min(2 * before.delay_s, longest)
    return Backoff(delay_s=delay, since=now)
