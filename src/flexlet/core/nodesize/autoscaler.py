"""Gives nodes more for pods that find no place, and takes back what nobody used for a while (balloon.md §9).

Opt-in. It only changes targets of NodeSizes; that they are reached, by deflating first and plugging then, and that
nobody is hurt by it, is the business of their controller. A node qualifies for a pod if nothing but its size is in
the way. Nodes whose NodeSize has no target, or says so by annotation, are left alone.
"""

from typing import Any, Final

import msgspec

from flexlet.api import decode
from flexlet.api.node import Node
from flexlet.api.pod import Pod
from flexlet.api.units import GIB
from flexlet.core.actions import ApiAction, ApiPlan, PatchObject
from flexlet.core.nodesize import names, report, sizes
from flexlet.core.nodesize.objects import NodeSize
from flexlet.core.nodesize.sizes import Amounts
from flexlet.core.observations import Observation, Seen, Vanished
from flexlet.core.refs import NODES, PODS
from flexlet.core.scheduling import filters
from flexlet.core.scheduling.nodes import NodeInfo
from flexlet.core.scheduling.pods import WaitingPod
from flexlet.core.scheduling.world import World

OPT_OUT: Final = "flexlet.io/autoscale"
"""``"false"`` on a NodeSize: its target is not for the autoscaler to change."""


class ScalerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When and how much."""

    quiet_s: float = 600.0
    """A node that had room to spare for this long becomes smaller."""
    patience_s: float = 30.0
    """How long a pod waits for the node that grows for it before another one does."""
    slack: Amounts = msgspec.field(default_factory=lambda: {"cpu": 500, "memory": GIB})
    """What it keeps beside its pods."""


class Shortage(msgspec.Struct, frozen=True):
    """How much more a node must have for a pod."""

    node: str
    more: Amounts
    needs_hardware: bool


class AutoscalerDecider:
    """Owns a scheduler's picture, and when nodes were last busy."""

    name = "nodesize-autoscaler"

    def __init__(self, settings: ScalerSettings | None = None) -> None:
        self.settings = settings or ScalerSettings()
        self._world = World()
        self._sizes: dict[str, NodeSize] = {}
        self._busy: dict[str, tuple[Amounts, float]] = {}
        self._promises: dict[str, float] = {}

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        match observation:
            case Seen(ref=ref, raw=raw) if ref == PODS:
                self._world.pod_changed(decode.from_json(raw, Pod))
            case Seen(ref=ref, raw=raw) if ref == NODES:
                self._world.node_changed(decode.from_json(raw, Node))
            case Seen(ref=ref, raw=raw) if ref == names.NODE_SIZES:
                size = decode.from_json(raw, NodeSize)
                self._sizes[size.metadata.name] = size
            case Vanished(ref=ref, uid=uid) if ref == PODS:
                self._world.pod_gone(uid)
            case Vanished(ref=ref, name=name) if ref == NODES:
                self._world.node_gone(name)
            case Vanished(ref=ref, name=name) if ref == names.NODE_SIZES:
                self._sizes.pop(name, None)
                self._busy.pop(name, None)
            case _:
                pass

    def decide(self, now: float) -> ApiPlan:
        """Targets to change now."""
        grown = self._grow(now)
        if grown or self._promises:
            return ApiPlan(tuple(grown), wake_at=min(self._promises.values(), default=None))
        shrunk, wake = ([], None) if self._unschedulable() else self._shrink(now)
        return ApiPlan(tuple(shrunk), wake_at=wake)

    def _unschedulable(self) -> list[WaitingPod]:
        """Pods of which the scheduler has said that no node has room."""
        return [pod for pod in self._world.waiting.values() if _is_unschedulable(pod.pod)]

    def _grow(self, now: float) -> list[ApiAction]:
        """Let each pod that waits have the node that needs least for it; a promise is waited for."""
        waiting = {pod.uid: pod for pod in self._unschedulable()}
        self._promises = {uid: until for uid, until in self._promises.items() if uid in waiting and until > now}
        more: dict[str, Amounts] = {}
        taken: dict[str, Amounts] = {}
        unserved = [pod for uid, pod in waiting.items() if uid not in self._promises]
        for pod in sorted(unserved, key=lambda p: -p.priority):
            found = [s for name in self._ready() if (s := self._shortage(pod, name, taken.get(name)))]
            if found:
                best = min(found, key=lambda s: (s.needs_hardware, s.more["cpu"], s.more["memory"], s.node))
                more[best.node] = best.more
                self._promises[pod.uid] = now + self.settings.patience_s
                asked = {r: pod.requests.get(r, 0) for r in sizes.RESOURCES}
                taken[best.node] = sizes.total((taken.get(best.node, sizes.NOTHING), asked))
        return [self._retarget(name, amounts, "for pods that wait") for name, amounts in more.items()]

    def _ready(self) -> list[str]:
        """Nodes whose size may be changed and is not being changed."""
        return [name for name, size in sorted(self._sizes.items()) if _is_open(size) and name in self._world.nodes]

    def _shortage(self, pod: WaitingPod, name: str, promised: Amounts | None) -> Shortage | None:
        """What a node lacks for a pod, None if it is not size alone."""
        info, size = self._world.nodes[name], self._sizes[name]
        if not info.exists or filters.static_reason(pod, info) or filters.ports_reason(pod, info):
            return None
        others = {r: amount for r, amount in pod.requests.items() if r not in sizes.RESOURCES}
        if any(amount > info.free(r) for r, amount in others.items() if amount > 0):
            return None
        before = promised or sizes.NOTHING
        free = {r: info.free(r) for r in sizes.RESOURCES}
        need = {r: max(0, before[r] + pod.requests.get(r, 0) - max(0, free[r])) for r in sizes.RESOURCES}
        given = sizes.less(sizes.of(size.status.balloon.allocated), sizes.FLOOR)
        beyond = {r for r in sizes.RESOURCES if need[r] > given[r]}
        if not any(need.values()) or (beyond and not _can_be_plugged(size)):
            return None
        # A machine may end up smaller than wished by the floor of its balloon, and the pod needs all of it.
        more = {r: need[r] + (sizes.FLOOR[r] if r in beyond else 0) for r in need}
        return Shortage(name, more, bool(beyond))

    def _shrink(self, now: float) -> tuple[list[ApiAction], float | None]:
        """Take back what was idle for long."""
        actions: list[ApiAction] = []
        wakes: list[float] = []
        for name in self._ready():
            used = _workload(self._world.nodes[name])
            before = self._busy.get(name)
            if before is None or before[0] != used:
                self._busy[name] = before = used, now
            due = before[1] + self.settings.quiet_s
            less = self._idle(name, used)
            if not any(less.values()):
                continue
            if now < due:
                wakes.append(due)
            else:
                actions.append(self._retarget(name, {r: -less[r] for r in less}, "idle"))
        return actions, min(wakes, default=None)

    def _idle(self, name: str, used: Amounts) -> Amounts:
        """What a node has beyond its pods and the slack, never below the least it shall have."""
        size = self._sizes[name]
        effective, least = sizes.of(size.status.effective), sizes.of(size.spec.min_effective)
        keep = sizes.largest(sizes.total((used, self.settings.slack)), least)
        spare = sizes.less(effective, keep)
        return {r: spare[r] if spare[r] >= sizes.GRAIN[r] else 0 for r in sizes.RESOURCES}

    def _retarget(self, name: str, more: Amounts, why: str) -> PatchObject:
        size = self._sizes[name]
        target = size.spec.target
        by_balloon = target is not None and bool(target.balloon)
        now = sizes.of(size.status.balloon.allocated if by_balloon else size.status.effective)
        new = sizes.less(now, more) if by_balloon else sizes.total((now, more))
        kind = "balloon" if by_balloon else "effective"
        amounts: dict[str, Any] = decode.to_value(sizes.listed(sizes.largest(new, sizes.NOTHING)))
        text = f"target {kind} is now {amounts['cpu']} CPUs and {amounts['memory']}: {why}"
        return PatchObject(
            ref=names.NODE_SIZES,
            name=name,
            patch={
                "metadata": {"resourceVersion": size.metadata.resource_version},
                "spec": {"target": {kind: amounts}},
            },
            on_behalf_of=name,
            event=report.event(size, "Normal", "NodeSizeScaled", text),
        )


def _is_open(size: NodeSize) -> bool:
    meta, status = size.metadata, size.status
    is_busy = any(c.type == "Resizing" and c.status == "True" for c in status.conditions)
    is_managed = size.spec.target is not None and bool(size.spec.target.effective or size.spec.target.balloon)
    is_seen = status.observed_generation == meta.generation
    return is_managed and is_seen and not is_busy and meta.annotations.get(OPT_OUT) != "false"


def _can_be_plugged(size: NodeSize) -> bool:
    return size.spec.via in {"Auto", "Hardware"} and bool(size.spec.machine and size.spec.machine.qmp)


def _is_unschedulable(pod: Pod) -> bool:
    return any(c.type == "PodScheduled" and c.reason == "Unschedulable" for c in pod.status.conditions)


def _workload(info: NodeInfo) -> Amounts:
    balloons = (p for p in info.pods.values() if p.labels.get(names.LABEL) == "true")
    held = sizes.total({r: p.requests.get(r, 0) for r in sizes.RESOURCES} for p in balloons)
    return sizes.less({r: info.used.get(r, 0) for r in sizes.RESOURCES}, held)
