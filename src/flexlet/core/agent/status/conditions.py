"""The conditions of a pod, in the order in which the kubelet writes them.

First those of others, then the resize, then a disruption, then the kubelet's own five. A transition is a change
of the status, nothing else. Follows kubelet `status/generate` of Kubernetes 1.36.3.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from flexlet.api import age, decode
from flexlet.api.nodepod import NodePod
from flexlet.core.agent import runs
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.status.before import Before, Json
from flexlet.core.agent.status.phase import FAILED, SUCCEEDED
from flexlet.core.agent.status.states import WAITS
from flexlet.core.resize import conditions as resize
from flexlet.core.resize.conditions import RESIZE_IN_PROGRESS
from flexlet.core.resources.statusaware import RESIZE_PENDING

SANDBOX: Final = "PodReadyToStartContainers"
INITIALIZED: Final = "Initialized"
READY: Final = "Ready"
CONTAINERS_READY: Final = "ContainersReady"
SCHEDULED: Final = "PodScheduled"
DISRUPTION: Final = "DisruptionTarget"
OURS: Final = frozenset(
    {SANDBOX, INITIALIZED, READY, CONTAINERS_READY, SCHEDULED, RESIZE_PENDING, RESIZE_IN_PROGRESS}
)
"""The types that only the node writes."""

_TRUE: Final = "True"
_FALSE: Final = "False"

Verdict = tuple[str, str, str]
"""Status, reason and message."""
_YES: Final = (_TRUE, "", "")


def conditions(
    record: PodRecord, before: Before, entries: Mapping[str, Json], phase: str, generation: int, now: float
) -> list[dict[str, Any]]:
    """All conditions of a pod in the given phase."""
    pod = record.pod
    found = [decode.to_value(each) for each in pod.status.conditions if each.type not in OURS]
    if not record.stopped:
        found += [decode.to_value(each) for each in resize.rendered(record.resize)]
    writer = _Writer(generation, before, now)
    if record.stopped and record.ending is not None and record.ending.disruption:
        disrupted = writer.condition(DISRUPTION, (_TRUE, "TerminationByKubelet", record.ending.disruption))
        found = [*(each for each in found if each["type"] != DISRUPTION), disrupted]
    containers = _containers_ready(pod, entries, phase)
    ours = {
        SANDBOX: (_FALSE if runs.needs_sandbox(record) else _TRUE, "", ""),
        INITIALIZED: _initialized(pod, entries, phase),
        READY: _gated(pod, found) if containers == _YES else containers,
        CONTAINERS_READY: containers,
        SCHEDULED: _YES,
    }
    return [*found, *(writer.condition(kind, verdict) for kind, verdict in ours.items())]


class _Writer:
    """Writes conditions down with their times."""

    def __init__(self, generation: int, before: Before, now: float) -> None:
        self._generation = generation
        self._before = before.conditions
        self._now = now

    def condition(self, kind: str, verdict: Verdict) -> dict[str, Any]:
        status, reason, message = verdict
        entry: dict[str, Any] = {"type": kind, "status": status, "lastProbeTime": None}
        known = self._before.get(kind)
        same = known is not None and known[0] == status and known[1]
        entry["lastTransitionTime"] = known[1] if known and same else age.format_seconds(self._now)
        if self._generation:
            entry["observedGeneration"] = self._generation
        if reason:
            entry["reason"] = reason
        if message:
            entry["message"] = message
        return entry


def _initialized(pod: NodePod, entries: Mapping[str, Json], phase: str) -> Verdict:
    if phase == SUCCEEDED:
        return _TRUE, "PodCompleted", ""
    if any(WAITS not in entries[each.name]["state"] for each in pod.spec.containers):
        return _YES
    missing = [
        each.name
        for each in pod.spec.init_containers
        if not entries[each.name]["started" if each.is_sidecar else "ready"]
    ]
    if not missing:
        return _YES
    return _FALSE, "ContainersNotInitialized", f"containers with incomplete status: {_listed(missing)}"


def _containers_ready(pod: NodePod, entries: Mapping[str, Json], phase: str) -> Verdict:
    if phase == SUCCEEDED:
        return _FALSE, "PodCompleted", ""
    if phase == FAILED:
        return _FALSE, "PodFailed", ""
    unready = [each.name for each in runs.probed(pod) if not entries[each.name]["ready"]]
    if not unready:
        return _YES
    return _FALSE, "ContainersNotReady", f"containers with unready status: {_listed(unready)}"


def _gated(pod: NodePod, others: Iterable[Mapping[str, Any]]) -> Verdict:
    """Whether the conditions that the pod waits for are True."""
    if not pod.spec.readiness_gates:
        return _YES
    found = {each["type"]: each.get("status", "") for each in others}
    texts = [_gate(each.condition_type, found.get(each.condition_type)) for each in pod.spec.readiness_gates]
    complaints = ", ".join(text for text in texts if text)
    return (_FALSE, "ReadinessGatesNotReady", complaints) if complaints else _YES


def _gate(kind: str, status: str | None) -> str:
    if status is None:
        return f'corresponding condition of pod readiness gate "{kind}" does not exist.'
    return "" if status == _TRUE else f'the status of pod readiness gate "{kind}" is not "True", but {status}'


def _listed(names: list[str]) -> str:
    return f"[{' '.join(names)}]"
