"""Counts what happens to pods, for ``/metrics``.

Obeys the loop's `Witness`: it is told of every observation after it was folded, and counts from what changed. What
can be read from the present state of things is not counted here but looked up when somebody asks (`gauges`).
"""

from collections.abc import Callable
from typing import Any, Final

from flexlet.core.actions import RecordEvent
from flexlet.core.agent import deeds
from flexlet.core.agent.household import PREEMPTED, Settlement
from flexlet.core.agent.observations import Answer, Done, Failed, Finished, PodObservation, PodSeen, Shown
from flexlet.core.agent.record import REJECTED, PodRecord
from flexlet.core.agent.world import World
from flexlet.core.resize import events, metrics
from flexlet.core.resize.steps import WritePodCgroup
from flexlet.core.runtime.shown import EXITED, RUNNING
from flexlet.core.stats import labels
from flexlet.engine.agent import placements
from flexlet.engine.agent.starts import Starts
from flexlet.ports.meters import Meters

_PROBES: Final = {"success": "successful", "warning": "successful", "failure": "failed"}
_CGROUPS: Final[dict[type[deeds.Deed], str]] = {
    deeds.CreatePodCgroup: "create",
    deeds.RemovePodCgroup: "destroy",
}

_Count = Callable[[Finished, Any, PodRecord], None]


class Counting:
    """Turns what the loop tells into numbers."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._starts = Starts(meters)
        self._resizing: dict[str, float] = {}
        """When the first step of a resize under way began, by pod."""
        self._probed: dict[str, dict[str, str]] = {}
        self._ends: dict[type[deeds.Deed], _Count] = {
            deeds.RunSandbox: self._sandbox,
            deeds.StartContainer: self._container,
            deeds.PullImage: self._pull,
            deeds.ReportStatus: self._report,
            deeds.RunProbe: self._probe,
            deeds.TakeStep: self._step,
            deeds.CreatePodCgroup: self._cgroup,
            deeds.RemovePodCgroup: self._cgroup,
        }

    def learned(self, before: PodRecord | None, after: PodRecord, news: PodObservation, now: float) -> None:
        """An observation was folded."""
        match news:
            case Shown() if before is not None:
                self._shown(before, after)
            case Finished(deed=deed):
                count = self._ends.get(type(deed))
                if count is not None:
                    count(news, deed, after)
            case PodSeen():
                self._seen(before, after, now)

    def settled(self, before: World, settlement: Settlement) -> None:
        """It was decided who may come in and whose resize is granted."""
        if settlement.accepted:
            trigger = {"retry_trigger": settlement.trigger}
            self._meters.count(metrics.DEFERRED_ACCEPTED.name, trigger, settlement.accepted)
        for detail in settlement.infeasible:
            self._meters.count(metrics.INFEASIBLE.name, {"reason_detail": detail})
        placements.count(self._meters, settlement)
        for uid in settlement.touched:
            known, record = before.pods.get(uid), settlement.world.pods.get(uid)
            if known is not None and record is not None and record.ending is not known.ending:
                self._ended(record)

    def told(self, event: RecordEvent, now: float) -> None:
        """People are told something."""
        if event.reason == events.COMPLETED:
            began = self._resizing.pop(event.about.get("uid", ""), None)
            if began is not None:
                self._resized(now - began, success=True)

    def forgotten(self, uid: str) -> None:
        """Nothing is left of a pod."""
        self._starts.forget(uid)
        self._resizing.pop(uid, None)
        names = self._probed.pop(uid, None)
        if names is not None:
            self._meters.forget("prober_probe_total", {"pod_uid": uid})
            self._meters.forget("prober_probe_duration_seconds", names)

    def _seen(self, before: PodRecord | None, after: PodRecord, now: float) -> None:
        if before is None:
            self._starts.seen(after.pod, now)
            self._meters.observe("kubelet_containers_per_pod_count", value=len(after.pod.spec.containers))
        elif before.pod.metadata.generation != after.pod.metadata.generation:
            for resource, requirement, operation in metrics.requested(before.pod, after.pod):
                words = {"resource": resource, "requirement": requirement, "operation": operation}
                self._meters.count(metrics.REQUESTED.name, words)

    def _shown(self, before: PodRecord, after: PodRecord) -> None:
        """Runs that were seen running and have ended."""
        if before.shown is None or after.shown is None or before.shown is after.shown:
            return
        ran = {run.id for run in before.shown.containers if run.state == RUNNING}
        for run in after.shown.containers:
            if run.id in ran and run.state == EXITED:
                kind = labels.container_type(after.pod, run.name)
                words = {"container_type": kind, "exit_code": str(run.exit_code), "reason": run.reason}
                self._meters.count("kubelet_terminated_containers_total", words)

    def _ended(self, record: PodRecord) -> None:
        """The node let a pod not in, or made it go for another one."""
        ending = record.ending
        if record.admission == REJECTED and ending is not None:
            self._meters.count("kubelet_admission_rejections_total", {"reason": labels.rejection(ending.reason)})
        elif ending is not None and ending.disruption == PREEMPTED:
            self._meters.count("kubelet_preemptions", {"preemption_signal": ""})

    def _sandbox(self, end: Finished, _: deeds.RunSandbox, __: PodRecord) -> None:
        handler = {"runtime_handler": ""}
        self._meters.count("kubelet_started_pods_total")
        self._meters.observe("kubelet_run_podsandbox_duration_seconds", handler, end.ended_at - end.began_at)
        if isinstance(end.outcome, Failed):
            self._meters.count("kubelet_started_pods_errors_total")
            self._meters.count("kubelet_run_podsandbox_errors_total", handler)

    def _container(self, end: Finished, deed: deeds.StartContainer, record: PodRecord) -> None:
        kind = {"container_type": labels.container_type(record.pod, deed.container)}
        self._meters.count("kubelet_started_containers_total", kind)
        if isinstance(end.outcome, Failed):
            words = kind | {"code": end.outcome.reason}
            self._meters.count("kubelet_started_containers_errors_total", words)

    def _pull(self, end: Finished, deed: deeds.PullImage, _: PodRecord) -> None:
        pulled = isinstance(end.outcome, Done) and end.outcome.pulled
        present = isinstance(end.outcome, Done) and not pulled
        words = {
            "pull_policy": deed.policy.lower(),
            "present_locally": str(present).lower(),
            "pull_required": str(not present).lower(),
        }
        self._meters.count("kubelet_image_manager_ensure_image_requests_total", words)
        if isinstance(end.outcome, Done) and pulled:
            seconds = end.ended_at - end.began_at
            size = {"image_size_in_bytes": labels.image_size(end.outcome.size)}
            self._starts.pulled(deed.uid, seconds)
            self._meters.observe("kubelet_image_pull_duration_seconds", size, seconds)

    def _report(self, end: Finished, deed: deeds.ReportStatus, record: PodRecord) -> None:
        if not isinstance(end.outcome, Failed):
            seconds = end.ended_at - end.began_at
            self._meters.observe("kubelet_pod_status_sync_duration_seconds", value=seconds)
            self._starts.told(record, deed.status, end.ended_at)

    def _probe(self, end: Finished, deed: deeds.RunProbe, record: PodRecord) -> None:
        result = _PROBES.get(end.outcome.result, "unknown") if isinstance(end.outcome, Answer) else "unknown"
        meta = record.pod.metadata
        pod = {"pod": meta.name, "namespace": meta.namespace}
        words = pod | {"probe_type": deed.kind.capitalize(), "container": deed.container}
        self._probed[meta.uid] = pod
        self._meters.count("prober_probe_total", words | {"result": result, "pod_uid": meta.uid})
        self._meters.observe("prober_probe_duration_seconds", words, end.ended_at - end.began_at)

    def _step(self, end: Finished, deed: deeds.TakeStep, _: PodRecord) -> None:
        began = self._resizing.setdefault(deed.uid, end.began_at)
        if isinstance(end.outcome, Failed):
            del self._resizing[deed.uid]
            self._resized(end.ended_at - began, success=False)
        elif isinstance(deed.step, WritePodCgroup):
            self._on_cgroup("update", end)

    def _cgroup(self, end: Finished, deed: deeds.Deed, _: PodRecord) -> None:
        self._on_cgroup(_CGROUPS[type(deed)], end)

    def _on_cgroup(self, operation: str, end: Finished) -> None:
        words = {"operation_type": operation}
        self._meters.observe("kubelet_cgroup_manager_duration_seconds", words, end.ended_at - end.began_at)

    def _resized(self, seconds: float, *, success: bool) -> None:
        self._meters.observe(metrics.DURATION.name, {"success": str(success).lower()}, seconds * 1000)
