"""Marks silent nodes, keeps taints in step with conditions, evicts.

A look at a node takes one step: first its conditions, then its taints, then its pods. Taints are a list that is
replaced as a whole, so that write is bound to the version it was computed from.
"""

from functools import partial
from typing import Final

from flexlet.core.actions import ApiAction, ApiPlan, DeleteObject, PatchObject, RecordEvent
from flexlet.core.controllers import podmarks
from flexlet.core.controllers.conditions import seconds
from flexlet.core.controllers.nodelifecycle import evictions, marks, pulse
from flexlet.core.controllers.nodelifecycle.pace import Pace
from flexlet.core.controllers.nodelifecycle.pulse import Pulse
from flexlet.core.controllers.placed import PlacedPods
from flexlet.core.controllers.queue import WorkQueue
from flexlet.core.observations import Failed, Observation, Seen, Vanished, view_of
from flexlet.core.refs import LEASES, NODES, PODS
from flexlet.core.views import lease, node
from flexlet.core.views import pod as pods
from flexlet.core.views.lease import LeaseView
from flexlet.core.views.node import NodeView
from flexlet.core.views.pod import PodView

COMPONENT: Final = "node-controller"
EVICTOR: Final = "taint-eviction-controller"


class NodeLifecycleDecider:
    """Owns the picture of nodes, of their signs of life, and of the pods on them."""

    name = "nodelifecycle"

    def __init__(self, grace_s: float = pulse.GRACE_S) -> None:
        self._nodes: dict[str, NodeView] = {}
        self._ready: set[str] = set()
        self._renewals: dict[str, str] = {}
        self._pods = PlacedPods()
        self._pulse = Pulse(grace_s)
        self._pace = Pace()
        self._queue = WorkQueue()
        self._leaving = WorkQueue()
        self._leave_at: dict[str, float] = {}
        self._reconsidered: set[str] = set()
        self._untold: list[RecordEvent] = []

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        match observation:
            case Seen(ref=ref) if ref == PODS:
                self._pod_seen(view_of(observation, PodView, pods.view))
            case Seen(ref=ref) if ref == NODES:
                self._node_seen(view_of(observation, NodeView, node.view))
            case Seen(ref=ref) if ref == LEASES:
                self._lease_seen(view_of(observation, LeaseView, lease.view))
            case Vanished(ref=ref, uid=uid) if ref == PODS:
                self._pods.remove(uid)
                self._stay(uid)
            case Vanished(ref=ref, name=name) if ref == NODES:
                self._node_gone(name)
            case Failed(action=PatchObject() | DeleteObject() as action):
                queue = self._queue if action.ref == NODES else self._leaving
                queue.refused(action.on_behalf_of)
            case _:
                pass

    def decide(self, now: float) -> ApiPlan:
        """What nodes and pods need now; looked at every few seconds even when nothing changes."""
        actions: list[ApiAction] = []
        for name in self._pulse.newly_silent(now):
            self._queue.add(name)
        if self._pace.count(len(self._ready), len(self._nodes)):
            self._outage_changed(now)
        for name in self._queue.take(now):
            seen = self._nodes.get(name)
            found: list[ApiAction] = []
            if seen and not self._queue.held(name):
                found = self._queue.attempt(name, partial(self._look, seen, now))
            actions += found
            if not found and not self._queue.held(name):
                self._queue.forgive(name)
        actions += self._evict(now)
        actions[:0], self._untold = self._untold, []
        alarms = (self._queue.wake_at, self._leaving.wake_at, now + pulse.PERIOD_S)
        wake_at = min(alarm for alarm in alarms if alarm is not None)
        return ApiPlan(tuple(actions), wake_at=wake_at, faults=self._queue.take_faults())

    def _outage_changed(self, now: float) -> None:
        """All nodes silent, or no longer: taints change everywhere, and everyone gets another chance."""
        if not self._pace.is_outage:
            self._pulse.excuse_all(now)
        for name in self._nodes:
            self._queue.add(name)

    def _look(self, seen: NodeView, now: float) -> list[ApiAction]:
        return self._mark_unknown(seen, now) or self._taint(seen, now) or self._unready_pods(seen, now)

    def _mark_unknown(self, seen: NodeView, now: float) -> list[ApiAction]:
        if not self._pulse.is_silent(seen.name):
            return []
        started = seconds(seen.created) + pulse.STARTUP_GRACE_S
        if not marks.readiness(seen) and now < started:
            self._queue.add_at(seen.name, started)
            return []
        conditions = marks.unknown(seen, now)
        if not conditions:
            return []
        text = f"Node {seen.name} status is now: NodeNotReady"
        was_ready = marks.readiness(seen) == "True"
        return [
            PatchObject(
                ref=NODES,
                name=seen.name,
                patch={"status": {"conditions": conditions}},
                kind="strategic",
                subresource="status",
                on_behalf_of=seen.name,
                event=_event(seen, "NodeNotReady", text) if was_ready else None,
            )
        ]

    def _taint(self, seen: NodeView, now: float) -> list[ApiAction]:
        taints = marks.retainted(seen, self._expel(seen, now), now)
        if taints is None:
            return []
        patch = {"metadata": {"resourceVersion": seen.resource_version}, "spec": {"taints": taints or None}}
        return [PatchObject(ref=NODES, name=seen.name, patch=patch, on_behalf_of=seen.name)]

    def _expel(self, seen: NodeView, now: float) -> str:
        """The taint to drive pods out with; a new one has to wait for its turn."""
        wanted = "" if self._pace.is_outage else marks.expelling(seen)
        if not wanted or marks.has_expelling(seen) or self._pace.may_expel(now):
            return wanted
        self._queue.add_at(seen.name, self._pace.next_chance(now))
        return ""

    def _unready_pods(self, seen: NodeView, now: float) -> list[ApiAction]:
        """Pods of a node nobody hears of are not ready, whatever they last said."""
        if marks.readiness(seen) != "Unknown":
            return []
        condition = podmarks.condition("Ready", "False", now)
        return [
            podmarks.status_patch(
                pod,
                {"conditions": [condition]},
                podmarks.event(pod, "Warning", "NodeNotReady", "Node is not ready", COMPONENT),
            )
            for pod in self._pods.on(seen.name)
            if pod.ready and not self._leaving.held(pod.uid)
        ]

    def _evict(self, now: float) -> list[ApiAction]:
        for uid in self._reconsidered:
            self._reconsider(uid, now)
        self._reconsidered.clear()
        actions: list[ApiAction] = []
        for uid in self._leaving.take(now):
            pod = self._pods.get(uid)
            if pod is not None and not pod.deleting and self._leave_at.get(uid, now + 1) <= now:
                actions += [] if self._leaving.held(uid) else [_expelled(pod, now)]
        return actions

    def _reconsider(self, uid: str, now: float) -> None:
        """Work out when a pod has to leave; a time that is set already stays."""
        pod = self._pods.get(uid)
        here = self._nodes.get(pod.node) if pod else None
        if pod is None or here is None:
            return
        wait = evictions.patience(here.taints, pod.tolerations)
        if wait == evictions.FOREVER:
            self._stay(uid, pod)
            return
        self._leave_at[uid] = min(self._leave_at.get(uid, now + wait), now + wait)
        self._leaving.add_at(uid, self._leave_at[uid])

    def _stay(self, uid: str, pod: PodView | None = None) -> None:
        if self._leave_at.pop(uid, None) is not None and pod is not None and not pod.deleting:
            text = f"Cancelling deletion of Pod {pod.namespace}/{pod.name}"
            self._untold.append(podmarks.event(pod, "Normal", "TaintManagerEviction", text, EVICTOR))
        if pod is None:
            self._leaving.drop(uid)

    def _pod_seen(self, pod: PodView) -> None:
        before = self._pods.put(pod)
        here = self._nodes.get(pod.node)
        if here is None or before == pod:
            return
        if pod.uid in self._leave_at:
            self._leaving.add(pod.uid)
        if (before is None or before.tolerations != pod.tolerations) and _drives_out(here):
            self._reconsidered.add(pod.uid)
        if pod.ready and marks.readiness(here) == "Unknown":
            self._queue.add(pod.node)

    def _node_seen(self, seen: NodeView) -> None:
        before = self._nodes.get(seen.name)
        self._nodes[seen.name] = seen
        if before is None:
            text = f"Node {seen.name} event: Registered Node {seen.name} in Controller"
            self._untold.append(_event(seen, "RegisteredNode", text))
        ready, posted = seen.condition("Ready"), before.condition("Ready") if before else None
        beat = (ready.last_heartbeat_time if ready else "", posted.last_heartbeat_time if posted else "")
        if not self._pulse.has(seen.name) or beat[0] != beat[1]:
            self._pulse.hear(seen.name)
        (self._ready.add if marks.readiness(seen) == "True" else self._ready.discard)(seen.name)
        if before is None or _differs(before, seen):
            self._queue.add(seen.name)
        if _drives_out(seen) if before is None else before.taints != seen.taints:
            self._reconsidered.update(pod.uid for pod in self._pods.on(seen.name))

    def _lease_seen(self, seen: LeaseView) -> None:
        if seen.namespace == lease.NODE_LEASES and self._renewals.get(seen.name) != seen.renew_time:
            self._renewals[seen.name] = seen.renew_time
            if seen.name in self._nodes:
                self._pulse.hear(seen.name)

    def _node_gone(self, name: str) -> None:
        gone = self._nodes.pop(name, None)
        self._ready.discard(name)
        self._renewals.pop(name, None)
        self._pulse.forget(name)
        self._queue.drop(name)
        if gone is not None:
            text = f"Node {name} event: Removing Node {name} from Controller"
            self._untold.append(_event(gone, "RemovingNode", text))


def _expelled(pod: PodView, now: float) -> ApiAction:
    """The next step of an eviction: the pod learns why, then it is deleted."""
    if not pod.disrupted:
        text = "Taint manager: deleting due to NoExecute taint"
        told = f"Marking for deletion Pod {pod.namespace}/{pod.name}"
        return podmarks.status_patch(
            pod,
            {"conditions": [podmarks.disruption("DeletionByTaintManager", text, now)]},
            podmarks.event(pod, "Normal", "TaintManagerEviction", told, EVICTOR),
        )
    return DeleteObject(ref=PODS, namespace=pod.namespace, name=pod.name, uid=pod.uid, on_behalf_of=pod.uid)


def _drives_out(seen: NodeView) -> bool:
    return any(taint.effect == "NoExecute" for taint in seen.taints)


def _differs(before: NodeView, after: NodeView) -> bool:
    """Whether anything but a heartbeat changed."""
    return (
        before.taints != after.taints
        or before.unschedulable != after.unschedulable
        or [(c.type, c.status) for c in before.conditions] != [(c.type, c.status) for c in after.conditions]
    )


def _event(seen: NodeView, reason: str, message: str) -> RecordEvent:
    about = {"kind": "Node", "apiVersion": "v1", "name": seen.name, "uid": seen.uid}
    return RecordEvent(about=about, type="Normal", reason=reason, message=message, component=COMPONENT)
