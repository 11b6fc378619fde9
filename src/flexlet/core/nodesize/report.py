"""The status of a NodeSize, and the events that tell how it changed."""

from collections.abc import Iterable
from typing import Final

import msgspec

from flexlet.api import age
from flexlet.api.meta import Condition
from flexlet.api.patch import difference
from flexlet.core.actions import PatchObject, RecordEvent
from flexlet.core.nodesize import claims, names, sizes
from flexlet.core.nodesize.claims import Findings
from flexlet.core.nodesize.objects import (
    BalloonSizes,
    LastResize,
    NodeSize,
    NodeSizeStatus,
    Progress,
    Result,
)
from flexlet.core.nodesize.scene import Scene

_ORDER: Final[tuple[Result, ...]] = ("", "Pending", "Deferred", "Refused", "Partial", "Granted")
_UNDER_WAY: Final = frozenset({"Pending", "Deferred"})


def status(scene: Scene, found: Findings, now: float) -> NodeSizeStatus:
    """The status after a look."""
    before = scene.size.status
    progress = tuple(found.progress[r] for r in sorted(found.progress)) or before.progress
    return NodeSizeStatus(
        observed_generation=scene.size.metadata.generation,
        mode=scene.verdict.mode,
        shape=scene.active.shape if scene.active else before.shape,
        allocatable=sizes.listed(scene.allocatable),
        balloon=BalloonSizes(
            desired=sizes.listed(found.wanted),
            allocated=sizes.listed(scene.allocated),
            actual=sizes.listed(sizes.total(b.actual for b in scene.balloons)),
        ),
        pod=scene.active.uid if scene.active else before.pod,
        surplus=max(0, len(scene.balloons) - 1),
        effective=sizes.listed(scene.effective),
        workload=sizes.listed(scene.workload),
        headroom=sizes.listed(scene.headroom),
        last_resize=_last(scene, found, progress, now),
        progress=progress,
        base=found.base,
        machine=found.machine,
        enforced=found.enforced,
        conditions=claims.conditions(scene, found, progress, now),
    )


def patch(size: NodeSize, new: NodeSizeStatus) -> PatchObject | None:
    """The write that makes a status so, None if it is so."""
    change = difference.between(size.status, new)
    if not change:
        return None
    return PatchObject(
        ref=names.NODE_SIZES,
        name=size.metadata.name,
        patch={"status": change},
        subresource="status",
        on_behalf_of=size.metadata.name,
    )


def is_figures_only(size: NodeSize, new: NodeSizeStatus) -> bool:
    """Whether nothing changed but sums over other people's pods."""
    old = size.status
    return new == msgspec.structs.replace(
        old, workload=new.workload, headroom=new.headroom, conditions=new.conditions
    ) and [_gist(c) for c in old.conditions] == [_gist(c) for c in new.conditions]


def event(size: NodeSize, kind: str, reason: str, message: str) -> RecordEvent:
    """Something to tell about a NodeSize."""
    about = {
        "kind": names.KIND,
        "apiVersion": names.API_VERSION,
        "name": size.metadata.name,
        "uid": size.metadata.uid,
    }
    return RecordEvent(about=about, type=kind, reason=reason, message=message, component=names.COMPONENT)


def told(scene: Scene, new: NodeSizeStatus) -> list[RecordEvent]:
    """What people are told of the resizes that came to an end."""
    events: list[RecordEvent] = []
    if new.surplus > scene.size.status.surplus:
        strays = ", ".join(balloon.name for balloon in scene.balloons[1:])
        events.append(event(scene.size, "Warning", "BalloonSurplus", f"balloons beside the oldest one: {strays}"))
    if _drifts(new) and not _drifts(scene.size.status):
        text = next(c.message for c in new.conditions if c.type == "Drifted")
        events.append(event(scene.size, "Warning", "BalloonDrift", text))
    if _refuses(new) and not _refuses(scene.size.status) and new.machine:
        events.append(event(scene.size, "Warning", "MachineRefused", new.machine.message))
    for record in ended(scene.size.status, new):
        size = sizes.of(new.balloon.allocated)[record.resource]
        text = f"{sizes.text(record.resource, size)} of balloon"
        reason = "BalloonDeflated" if record.direction == "Deflate" else "BalloonInflated"
        if record.result == "Granted":
            events.append(event(scene.size, "Normal", reason, text))
            continue
        refused = "BalloonInflatePartial" if record.result == "Partial" else "BalloonInflateRefused"
        wish = sizes.text(record.resource, sizes.of({record.resource: record.wanted})[record.resource])
        message = f"{text}, {wish} was wanted, {record.missing} is missing: {record.message}"
        events.append(event(scene.size, "Warning", refused, message))
    return events


def _refuses(status: NodeSizeStatus) -> bool:
    return status.machine is not None and status.machine.phase == "Refused"


def _drifts(status: NodeSizeStatus) -> bool:
    return any(c.type == "Drifted" and c.status == "True" for c in status.conditions)


def ended(old: NodeSizeStatus, new: NodeSizeStatus) -> list[Progress]:
    """Records of resizes that this status is the first to call over."""
    before = {record.resource: record for record in old.progress}
    return [record for record in new.progress if _is_news(before.get(record.resource), record)]


def _is_news(old: Progress | None, new: Progress) -> bool:
    if new.result in _UNDER_WAY:
        return False
    if new.result != "Granted":
        return old is None or (old.result, old.wanted, old.since) != (new.result, new.wanted, new.since)
    return old is not None and old.result in _UNDER_WAY


def _last(scene: Scene, found: Findings, progress: Iterable[Progress], now: float) -> LastResize | None:
    """The resize of all resources together; its result is the worst of theirs."""
    before, records = scene.size.status.last_resize, tuple(progress)
    moved = [r for r in records if r.result != "Granted" or _moved(scene, r)] or list(records)
    if not moved:
        return before
    result = min((r.result for r in moved), key=_ORDER.index)
    if result == "Granted" and any(found.short.values()):
        result = "Partial"
    allocated = scene.allocated
    new = LastResize(
        direction="Inflate" if any(r.direction == "Inflate" for r in moved) else "Deflate",
        requested={r.resource: r.wanted for r in moved},
        granted={r.resource: sizes.quantity(r.resource, allocated[r.resource]) for r in moved},
        result=result,
        at=before.at if before else "",
    )
    return before if before == new else msgspec.structs.replace(new, at=age.format_seconds(now))


def _moved(scene: Scene, record: Progress) -> bool:
    """Whether a resource is part of the resize that is told of."""
    before = scene.size.status.last_resize
    return (
        before is not None
        and record.resource in before.requested
        and before.requested[record.resource] == record.wanted
    ) or bool(scene.record(record.resource) and scene.record(record.resource) != record)


def _gist(condition: Condition) -> tuple[str, str, str]:
    return condition.type, condition.status, condition.reason
