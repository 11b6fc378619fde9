"""Whether to believe a runtime that says something of a pod has ended.

A runtime that was started again asks what runs, and may lose some of it. containerd asks each shim once; of one
that does not answer well (containerd/containerd#13784, up to 2.2) the sandbox is called NOTREADY or the container
EXITED, 255, Unknown, one that takes too long is called UNKNOWN, and all of them run on. That is said until
containerd is started once more; then it finds them again. The kubelet believes it, and stops or doubles what runs.

Here the kernel is asked: what has processes in its cgroup is in doubt. A sandbox in doubt is as good as any for
those who run in it, so it is kept until somebody must be started there, which is the one thing it is not good for.
A container in doubt cannot be asked for anything, so it is not kept for ever; but nothing is done to its pod until
the runtime has been heard to say the same after a while. What had no processes left is believed at once.
"""

from collections.abc import Collection
from typing import Final

from msgspec.structs import replace

from flexlet.core.agent.record import Doubt, PodRecord
from flexlet.core.runtime.shown import EXITED, READY, RUNNING, UNKNOWN, Container, RuntimePod, Sandbox

PATIENCE_S: Final = 30.0
"""How long a runtime may take to find again what it has lost; so long it may also be silent altogether."""

_LOST_CODE: Final = 255
_LOST_REASON: Final = "Unknown"
"""How containerd shows the end of a container that it has not seen."""


def questionable(record: PodRecord, found: RuntimePod) -> frozenset[str]:
    """What the kernel is to be asked about: whatever may run although the runtime does not say so."""
    sandboxes = {each.id for each in found.sandboxes if each.state != READY}
    containers = {run.id for run in found.containers if _is_lost(run)}
    there = {each.id for each in found.sandboxes} | {run.id for run in found.containers}
    return frozenset(sandboxes | containers | (_alive(record) - there))


def believed(pod: RuntimePod, alive: Collection[str]) -> RuntimePod:
    """A run that is said to have ended without being seen to is unknown as long as its processes run."""
    if not any(run.state == EXITED and run.id in alive for run in pod.containers):
        return pod
    return replace(pod, containers=tuple(_believed(run, alive) for run in pod.containers))


def after(known: dict[str, Doubt], alive: Collection[str], now: float) -> dict[str, Doubt]:
    """What is in doubt after a look."""
    return {each: Doubt(since=known[each].since if each in known else now, seen_at=now) for each in alive}


def keeps(record: PodRecord, sandbox: Sandbox) -> bool:
    """Whether a sandbox that the runtime has lost is left to those who run in it."""
    if sandbox.id not in record.doubts or sandbox.id in record.stopped_sandboxes or record.shown is None:
        return False
    users = (run for run in record.shown.containers if run.state == RUNNING or run.id in record.doubts)
    return record.stopping_since is None and any(users)


def awaited_until(record: PodRecord) -> float | None:
    """Until when the runtime has time to find again what it has lost, sandboxes aside; None if nothing is open."""
    sandboxes = {each.id for each in record.shown.sandboxes} if record.shown is not None else set()
    ends = [
        each.since + PATIENCE_S
        for identity, each in record.doubts.items()
        if identity not in sandboxes and each.seen_at < each.since + PATIENCE_S
    ]
    return max(ends, default=None)


def _is_lost(run: Container) -> bool:
    ended_unseen = run.state == EXITED and (run.exit_code, run.reason) == (_LOST_CODE, _LOST_REASON)
    return run.state == UNKNOWN or ended_unseen


def _alive(record: PodRecord) -> set[str]:
    """All that ran when the pod was last looked at."""
    shown = record.shown or RuntimePod(record.uid)
    ready = {each.id for each in shown.sandboxes if each.state == READY}
    return {*record.doubts, *ready, *(run.id for run in shown.running)}


def _believed(run: Container, alive: Collection[str]) -> Container:
    return replace(run, state=UNKNOWN) if run.state == EXITED and run.id in alive else run
