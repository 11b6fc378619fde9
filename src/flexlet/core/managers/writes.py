"""Which CPU sets containers must be given when the book changed, and in which order.

A CPU of one container becomes another one's only after the first was taken off it. So sets that only lose CPUs
come first, then victims move to the shared CPUs, then those that lose some and get others, and last who only gets
more.
"""

from collections.abc import Container, Sequence

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.cpu.outcome import Write
from flexlet.core.managers.cpu.static import pool
from flexlet.core.managers.state import CpuState


def writes(
    before: CpuState, after: CpuState, holders: Sequence[PodClaim], victims: Container[str] = ()
) -> tuple[Write, ...]:
    """The sets of these pods' containers that are others now; which of them run is for the caller to know."""
    changes = [
        (_turn(was, now, is_victim=claim.uid in victims), Write(claim.uid, container.name, now))
        for claim in holders
        for container in claim.containers
        if (was := _set(before, claim.uid, container.name)) != (now := _set(after, claim.uid, container.name))
    ]
    return tuple(write for _, write in sorted(changes, key=lambda change: change[0]))


def _set(state: CpuState, uid: str, container: str) -> CpuSet:
    own = state.cpus_of(uid, container)
    return pool(state) if own is None else own


def _turn(was: CpuSet, now: CpuSet, *, is_victim: bool) -> int:
    if now.issubset(was):
        return 0
    if is_victim:
        return 1
    return 3 if was.issubset(now) else 2
