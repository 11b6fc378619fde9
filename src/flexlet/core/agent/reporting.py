"""When the API is told about a pod: whenever its status is not what was told last, one report at a time.

While a report is on its way the pod may change again; the next report then tells the newest state, so the API
always converges. A pod that was rejected is told to have failed at once, whatever the runtime is doing; only one
of which an earlier agent may have left something running is told so when that has ended. When a deleted pod has
ended, is cleaned up, and the API knows that it has ended, the API is told to let it go. A pod that is gone is no
longer told about.

Rendering a status is the costliest part of a decision, so what it is made from is compared first (`grounds`).
"""

from typing import Any, Final

from flexlet.core.agent import status
from flexlet.core.agent.deeds import FinishDelete, ReportStatus
from flexlet.core.agent.observations import FILE
from flexlet.core.agent.record import REJECTED, PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.agent.world import TERMINAL

_SILENT: Final = frozenset(
    {
        "crashes",
        "doubtful",
        "failed_steps",
        "failures",
        "grace_s",
        "granted",
        "has_cgroup",
        "has_values",
        "hooked",
        "images",
        "order",
        "pulls",
        "refresh_volumes_at",
        "retries",
        "retry_resize_at",
        "seen_at",
        "settled",
        "stale",
        "stop_by",
        "stopped_sandboxes",
        "stops",
        "taken",
        "told_from",
        "unverified",
        "usage",
        "volumes",
    }
)
"""What a status does not tell of. Everything else is taken to matter."""
_COUNTED: Final = frozenset({"probes", "underway"})
"""What matters only in part."""
_TOLD: Final = tuple(name for name in PodRecord.__struct_fields__ if name not in _SILENT | _COUNTED)


def report(record: PodRecord, setup: NodeSetup, now: float) -> ReportStatus | FinishDelete | None:
    """What the API shall be told now; None if nothing, or if that must wait."""
    if record.gone or record.deleted or (record.source == FILE and record.mirror is None):
        return None
    if may_go(record):
        return FinishDelete(uid=record.uid)
    if record.admission == REJECTED and not record.stopped and may_run(record):
        return None
    rendered = status.render(record, setup, now)
    if record.reported is not None and status.same(rendered, record.reported):
        return None
    return ReportStatus(uid=record.uid, status=rendered)


def grounds(record: PodRecord, setup: NodeSetup) -> tuple[Any, ...]:
    """All that a report depends on, but for the time, which only dates what has changed."""
    starting = tuple(item for item in record.underway.items() if item[0].startswith("container/"))
    verdicts = tuple((key, each.container_id, each.result) for key, each in record.probes.items())
    return (setup, starting, verdicts, *[getattr(record, name) for name in _TOLD])


def may_run(record: PodRecord) -> bool:
    """Whether the runtime has something of the pod; before it was asked, whether the API knows a container."""
    if record.shown is not None:
        return bool(record.shown.sandboxes or record.shown.containers)
    status = record.api_pod.status
    known = (*status.init_container_statuses, *status.container_statuses, *status.ephemeral_container_statuses)
    return any(each.container_id for each in known)


def may_go(record: PodRecord) -> bool:
    """Whether the API may forget the pod."""
    if record.pod.metadata.deletion_timestamp is None or record.source == FILE:
        return False
    told = (record.reported or {}).get("phase")
    return record.cleaned and (told in TERMINAL or record.pod.status.phase in TERMINAL)
