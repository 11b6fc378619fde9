"""The status that the API has, as far as rendering the next one depends on it.

What we reported last is newer than the API's copy that we were sent; after a restart of the agent only the copy
is there, and it is all that remembers when conditions changed and how often containers were restarted.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from flexlet.api.nodepod.pod import NodeContainerStatus, NodePodStatus
from flexlet.core.agent.record import PodRecord
from flexlet.core.resources.rounding import text_list, text_requirements

Json = dict[str, Any]

TERMINAL: Final = frozenset({"Succeeded", "Failed"})
_LISTS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """Generation, phase and texts, times of conditions by type, and the statuses of containers by name."""

    generation: int = 0
    phase: str = ""
    reason: str = ""
    message: str = ""
    start_time: str = ""
    pod_ip: str = ""
    conditions: dict[str, tuple[str, str]] = {}
    """Status and last transition by type."""
    containers: dict[str, Json] = {}


def known(record: PodRecord) -> Before:
    """What the API has of a pod; a static pod inherits no more than its times from a mirror that is there."""
    if record.reported is not None:
        return _of_report(record.reported)
    if record.mirror is None:
        return _of_copy(record.pod.status)
    mirrored = record.mirror.status
    return Before(start_time=mirrored.start_time or "", conditions=_transitions(mirrored))


def _of_report(status: Json) -> Before:
    return Before(
        generation=status.get("observedGeneration", 0),
        phase=status.get("phase", ""),
        reason=status.get("reason", ""),
        message=status.get("message", ""),
        start_time=status.get("startTime", ""),
        pod_ip=status.get("podIP", ""),
        conditions={
            each["type"]: (each["status"], each.get("lastTransitionTime") or "")
            for each in status.get("conditions", ())
        },
        containers={each["name"]: each for name in _LISTS for each in status.get(name, ())},
    )


def _of_copy(status: NodePodStatus) -> Before:
    statuses = (
        *status.container_statuses,
        *status.init_container_statuses,
        *status.ephemeral_container_statuses,
    )
    return Before(
        generation=status.observed_generation,
        phase=status.phase,
        reason=status.reason,
        message=status.message,
        start_time=status.start_time or "",
        pod_ip=status.pod_ip,
        conditions=_transitions(status),
        containers=_plain(statuses),
    )


def _transitions(status: NodePodStatus) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.last_transition_time or "") for each in status.conditions}


def _plain(statuses: Iterable[NodeContainerStatus]) -> dict[str, Json]:
    return {each.name: _entry(each) for each in statuses}


def _entry(status: NodeContainerStatus) -> Json:
    """All of a status that cannot be made again from the spec once the runtime has forgotten the container."""
    entry: Json = {
        "name": status.name,
        "state": status.state,
        "lastState": status.last_state,
        "ready": status.ready,
        "restartCount": status.restart_count,
        "image": status.image,
        "imageID": status.image_id,
        "containerID": status.container_id,
    }
    if status.resources is not None:
        entry["resources"] = text_requirements(status.resources)
    if status.allocated_resources:
        entry["allocatedResources"] = text_list(status.allocated_resources)
    if status.user is not None:
        entry["user"] = status.user
    if status.stop_signal:
        entry["stopSignal"] = status.stop_signal
    return entry
