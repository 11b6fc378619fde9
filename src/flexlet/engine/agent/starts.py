"""How long pods take to start, as their owners and the scheduler see it.

Only pods count that this agent saw before they had started. A pod has started when its status says so for the
first time; pulling images and running init containers is taken off where the metric is about the node alone.
"""

import msgspec

from flexlet.api import age
from flexlet.api.nodepod import NodePod
from flexlet.core.agent.record import PodRecord
from flexlet.ports.meters import Meters

_FINAL = frozenset({"Succeeded", "Failed"})


class _Start(msgspec.Struct):
    seen_at: float
    pulled_s: float = 0.0
    told_running: bool = False


class Starts:
    """Pods that are starting."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._pods: dict[str, _Start] = {}
        self._had_network = False

    def seen(self, pod: NodePod, now: float) -> None:
        """A pod came; one that had started before is none of ours."""
        if pod.status.start_time is None and pod.status.phase not in _FINAL:
            self._pods[pod.metadata.uid] = _Start(now)

    def pulled(self, uid: str, seconds: float) -> None:
        """An image was pulled for it."""
        start = self._pods.get(uid)
        if start is not None:
            start.pulled_s += seconds

    def told(self, record: PodRecord, status: dict[str, object], now: float) -> None:
        """The API knows a status of the pod."""
        start = self._pods.get(record.uid)
        if start is None:
            return
        if status.get("phase") in _FINAL:
            self.forget(record.uid)
        elif status.get("phase") == "Running" and not start.told_running:
            start.told_running = True
            self._meters.observe("kubelet_pod_start_duration_seconds", value=now - start.seen_at)
        if start.told_running and _all_run(status):
            self._finish(record, start, now)

    def forget(self, uid: str) -> None:
        """It has ended, or has long started."""
        self._pods.pop(uid, None)

    def _finish(self, record: PodRecord, start: _Start, now: float) -> None:
        self.forget(record.uid)
        created = record.pod.metadata.creation_timestamp
        whole = now - (age.parse(created).timestamp() if created else start.seen_at)
        self._meters.observe("kubelet_pod_start_total_duration_seconds", value=whole)
        if _is_stateful(record.pod):
            return
        own = whole - start.pulled_s - _initializing(record)
        self._meters.observe("kubelet_pod_start_sli_duration_seconds", value=own)
        if not self._had_network and not record.pod.spec.host_network:
            self._had_network = True
            self._meters.set("kubelet_first_network_pod_start_sli_duration_seconds", value=own)


def _all_run(status: dict[str, object]) -> bool:
    statuses = status.get("containerStatuses")
    return isinstance(statuses, list | tuple) and all("running" in each["state"] for each in statuses)


def _initializing(record: PodRecord) -> float:
    """Seconds that init containers took which are no sidecars."""
    if record.shown is None:
        return 0.0
    names = {each.name for each in record.pod.spec.init_containers if not each.is_sidecar}
    ended = [run for run in record.shown.containers if run.name in names and run.finished_at]
    return sum(run.finished_at - run.started_at for run in ended) / 1e9


def _is_stateful(pod: NodePod) -> bool:
    """Whether it mounts anything that is not made for it alone."""
    return any(
        volume.secret is None
        and volume.config_map is None
        and volume.downward_api is None
        and volume.empty_dir is None
        and volume.projected is None
        for volume in pod.spec.volumes
    )
