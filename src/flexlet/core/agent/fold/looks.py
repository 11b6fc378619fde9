"""What the runtime and the kernel show of a pod."""

from typing import Final

from msgspec.structs import replace

from flexlet.api.nodepod import NodePod
from flexlet.api.pod import ResourceRequirements
from flexlet.core.agent import doubts, runs
from flexlet.core.agent.containers.sandbox import as_allocated
from flexlet.core.agent.observations import Shown
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.resize import readback, targets
from flexlet.core.resize.allocation import Allocation
from flexlet.core.resources.names import COMPUTE
from flexlet.core.runtime.shown import READY, Container

_BY_ID: Final = frozenset({"stop", "remove", "hook", "cpus"})
"""Kinds of deeds that are about one run or sandbox, whose names never come back."""


def shown(record: PodRecord, look: Shown, setup: NodeSetup, now: float) -> PodRecord:
    """The record with the view in it, unless a newer one is there already."""
    if record.shown is not None and look.order < record.order:
        return record
    alive = {run.id for run in look.pod.containers}
    sandboxes = {each.id for each in look.pod.sandboxes}
    ended = {each.id for each in look.pod.sandboxes if each.state != READY}
    return replace(
        record,
        shown=doubts.believed(look.pod, look.alive),
        doubts=doubts.after(record.doubts, look.alive, now),
        order=look.order,
        stale=False,
        unverified=False,
        actuated=_actuated(record, look, setup),
        has_cgroup=look.has_cgroup,
        cgroup=look.cgroup,
        usage=look.usage or record.usage,
        messages=look.messages,
        ips=_ips(record, look, setup),
        doomed={key: why for key, why in record.doomed.items() if key in alive},
        replaced=record.replaced & alive,
        pinned={key: pin for key, pin in record.pinned.items() if key in alive},
        hooked=record.hooked & alive,
        stops={key: at for key, at in record.stops.items() if key in alive},
        # One that a runtime had lost may be found again, and must be stopped again.
        stopped_sandboxes=record.stopped_sandboxes & ended,
        retries={key: wait for key, wait in record.retries.items() if _is_about(key, alive | sandboxes)},
    )


def _actuated(record: PodRecord, look: Shown, setup: NodeSetup) -> Allocation:
    """The record of what was actuated, set right where somebody might take it for done and it is not."""
    known = record.actuated
    if not record.doubtful or record.allocation is None:
        return known
    pod = as_allocated(record, setup)
    found = {run.name: _given(known, pod, run) for run in look.pod.running if run.name in record.doubtful}
    changed = {name: each for name, each in found.items() if each is not None}
    return replace(known, containers={**known.containers, **changed}) if changed else known


def _given(known: Allocation, pod: NodePod, run: Container) -> ResourceRequirements | None:
    """What a run has, if that is neither what was recorded nor what it shall have; the latter is given again."""
    container = runs.named(pod, run.name)
    if container is None or run.resources is None or run.name not in known.containers:
        return None
    found, wanted = readback.recovered(known.containers[run.name], run.resources), targets.target(pod, container)
    is_other = any(targets.differs(found, wanted, name) for name in COMPUTE)
    return found if is_other and found is not known.containers[run.name] else None


def _is_about(key: str, there: set[str]) -> bool:
    """Whether a key is about something that is there, or about no run or sandbox at all."""
    kind, _, subject = key.partition("/")
    return kind not in _BY_ID or subject in there


def _ips(record: PodRecord, look: Shown, setup: NodeSetup) -> tuple[str, ...]:
    """The addresses of the present sandbox; a pod without one keeps those it had."""
    if record.pod.spec.host_network:
        return setup.ips
    newest = look.pod.sandboxes[0] if look.pod.sandboxes else None
    if newest is not None and newest.state == READY and newest.ips:
        return newest.ips
    return record.ips or tuple(each.ip for each in record.pod.status.pod_ips)
