"""In which order containers are given their CPU sets, so that no CPU has two owners in between.

Everybody first gives up what it must, then everybody takes what is new. A set that does both is written twice; one
that must give up all it has goes before others can come. Shared sets grow last.
"""

from collections.abc import Iterator, Sequence

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.cpu.outcome import Write
from flexlet.core.managers.cpu.static import pool
from flexlet.core.managers.state import CpuState


class _Change(msgspec.Struct, frozen=True):
    uid: str
    container: str
    before: CpuSet
    after: CpuSet
    rank: int
    """Who takes first in the second round."""


def writes(before: CpuState, after: CpuState, online: CpuSet, pods: Sequence[PodClaim]) -> tuple[Write, ...]:
    """What to write, for the containers of these pods and for all that had CPUs of their own before."""
    common = (pool(before) & pool(after)) or pool(after)
    changes = [change for change in _changes(before, after, pods) if change.before != change.after]
    first = [write for change in changes for write in _giving(change, online, common)]
    done = {(write.uid, write.container): write.cpus for write in first}
    second = [
        Write(change.uid, change.container, change.after)
        for change in sorted(changes, key=lambda change: change.rank)
        if done.get((change.uid, change.container)) != change.after
    ]
    return (*first, *second)


def _changes(before: CpuState, after: CpuState, pods: Sequence[PodClaim]) -> Iterator[_Change]:
    if not pool(after):
        return
    for uid, container in dict.fromkeys(_containers(before, pods)):
        was, now = before.cpus_of(uid, container), after.cpus_of(uid, container)
        rank = 2 if now is None else 1 if was is None or was & now else 0
        yield _Change(uid, container, was or pool(before), now or pool(after), rank)


def _containers(before: CpuState, pods: Sequence[PodClaim]) -> Iterator[tuple[str, str]]:
    for pod in pods:
        yield from ((pod.uid, container.name) for container in pod.containers)
    for uid, sets in before.entries.items():
        yield from ((uid, name) for name in sets)


def _giving(change: _Change, online: CpuSet, common: CpuSet) -> Iterator[Write]:
    """What is left when a set gives up what it must; who had its own and has none goes among the others."""
    kept = change.before & change.after
    if not kept and change.rank == 2:
        kept = common
    gives = not (change.before & online).issubset(change.after)
    if kept and (gives or kept == change.after):
        yield Write(change.uid, change.container, kept)
