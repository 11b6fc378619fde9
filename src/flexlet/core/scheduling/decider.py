"""The scheduler as a controller: observations in, API actions out.

Turns what the watch says into the scheduler's World, and the scheduler's Plan into bindings, evictions,
conditions and events. A pod is told why it waits once per message, not once per round.
"""

from typing import Any, Final

import msgspec

from flexlet.api import age, decode, selectors
from flexlet.api.node import Node
from flexlet.api.pod import Pod
from flexlet.core.actions import ApiAction, ApiPlan, CreateObject, DeleteObject, PatchObject, RecordEvent
from flexlet.core.faults import LookFault
from flexlet.core.observations import Failed, Observation, Seen, Vanished
from flexlet.core.scheduling.decide import decide
from flexlet.core.scheduling.plan import Bind, Preempt, Unschedulable
from flexlet.core.scheduling.world import Budget, World

PODS: Final = ("", "v1", "pods")
NODES: Final = ("", "v1", "nodes")
NAMESPACES: Final = ("", "v1", "namespaces")
BUDGETS: Final = ("policy", "v1", "poddisruptionbudgets")
COMPONENT: Final = "default-scheduler"


class SchedulerDecider:
    """Owns the scheduler's World."""

    name = "scheduler"

    def __init__(self) -> None:
        self.world = World()
        self._told: dict[str, str] = {}
        self._binding: dict[str, Pod] = {}
        self._faulty: set[str] = set()

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        match observation:
            case Seen():
                self._seen(observation)
            case Vanished():
                self._vanished(observation)
            case Failed():
                self._failed(observation)

    def decide(self, now: float) -> ApiPlan:
        """Bind, evict or explain; bound pods count as placed from here on."""
        plan = decide(self.world)
        actions: list[ApiAction] = []
        for action in plan.actions:
            match action:
                case Bind():
                    actions += self._bind(action)
                case Preempt():
                    actions += self._preempt(action, now)
                case Unschedulable():
                    actions += self._explain(action, now)
        return ApiPlan(tuple(actions), wake_at=now if plan.more else None, faults=self._noted(plan.faults))

    def _noted(self, faults: tuple[LookFault, ...]) -> tuple[LookFault, ...]:
        """The faults of this round, and the pods of earlier ones that no longer wait."""
        if not faults and not self._faulty:  # as nearly always, with many pods waiting
            return ()
        waiting = {f"{pod.pod.metadata.namespace}/{pod.pod.metadata.name}" for pod in self.world.waiting.values()}
        well = [LookFault(key, None) for key in sorted(self._faulty - waiting)]
        self._faulty = (self._faulty & waiting) | {fault.key for fault in faults}
        return (*faults, *well)

    def _seen(self, observation: Seen) -> None:
        if observation.ref == PODS:
            pod = decode.from_json(observation.raw, Pod)
            if pod.spec.node_name:
                self._binding.pop(pod.metadata.uid, None)
                self._told.pop(pod.metadata.uid, None)
            self.world.pod_changed(pod)
        elif observation.ref == NODES:
            self.world.node_changed(decode.from_json(observation.raw, Node))
        else:
            self._seen_value(observation.ref, msgspec.json.decode(observation.raw))

    def _seen_value(self, ref: tuple[str, str, str], value: dict[str, Any]) -> None:
        meta = value["metadata"]
        if ref == NAMESPACES:
            self.world.namespaces[meta["name"]] = meta.get("labels") or {}
        elif ref == BUDGETS:
            selector = selectors.from_object(value["spec"].get("selector"))
            allowed = (value.get("status") or {}).get("disruptionsAllowed", 0)
            self.world.budgets[f"{meta['namespace']}/{meta['name']}"] = Budget(
                meta["namespace"], selector, allowed
            )

    def _vanished(self, gone: Vanished) -> None:
        if gone.ref == PODS:
            self._binding.pop(gone.uid, None)
            self._told.pop(gone.uid, None)
            self.world.pod_gone(gone.uid)
        elif gone.ref == NODES:
            self.world.node_gone(gone.name)
        elif gone.ref == NAMESPACES:
            self.world.namespaces.pop(gone.name, None)
        elif gone.ref == BUDGETS:
            self.world.budgets.pop(f"{gone.namespace}/{gone.name}", None)

    def _failed(self, failed: Failed) -> None:
        """A refused binding gives the room back; the pod is tried again when it next changes."""
        action = failed.action
        if isinstance(action, CreateObject) and action.path.endswith("/binding"):
            pod = self._binding.pop(action.body["metadata"]["uid"], None)
            if pod is not None and failed.code not in {404, 409}:
                self.world.bind_failed(pod)
            elif pod is not None:
                self.world.pod_gone(pod.metadata.uid)

    def _bind(self, bind: Bind) -> list[ApiAction]:
        self._binding[bind.uid] = self.world.waiting[bind.uid].pod
        self.world.assume(bind.uid, bind.node)
        body = {
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": {"name": bind.name, "namespace": bind.namespace, "uid": bind.uid},
            "target": {"kind": "Node", "name": bind.node},
        }
        text = f"Successfully assigned {bind.namespace}/{bind.name} to {bind.node}"
        return [
            CreateObject(ref=PODS, namespace=bind.namespace, body=body, path=f"{bind.name}/binding"),
            _event(bind.namespace, bind.name, bind.uid, "Normal", "Scheduled", text),
        ]

    def _preempt(self, preempt: Preempt, now: float) -> list[ApiAction]:
        """Victims learn why they go; the winner's promised node is written down."""
        self.world.rest(preempt.uid)
        self.world.nominated[preempt.uid] = preempt.node
        nominate = {"status": {"nominatedNodeName": preempt.node}}
        actions: list[ApiAction] = [_status_patch(preempt.namespace, preempt.name, nominate)]
        text = f"Preempted by pod {preempt.uid} on node {preempt.node}"
        for namespace, name, uid in preempt.victims:
            reason = f"{COMPONENT}: preempting to accommodate a higher priority pod"
            condition = _condition("DisruptionTarget", "True", "PreemptionByScheduler", reason, now)
            actions += [
                _status_patch(namespace, name, {"metadata": {"uid": uid}, "status": {"conditions": [condition]}}),
                DeleteObject(ref=PODS, namespace=namespace, name=name, uid=uid, reason=text),
                _event(namespace, name, uid, "Normal", "Preempted", text),
            ]
        return actions

    def _explain(self, action: Unschedulable, now: float) -> list[ApiAction]:
        self.world.rest(action.uid)
        if self._told.get(action.uid) == action.message:
            return []
        self._told[action.uid] = action.message
        condition = _condition("PodScheduled", "False", "Unschedulable", action.message, now)
        return [
            _status_patch(action.namespace, action.name, {"status": {"conditions": [condition]}}),
            _event(action.namespace, action.name, action.uid, "Warning", "FailedScheduling", action.message),
        ]


def _status_patch(namespace: str, name: str, patch: dict[str, Any]) -> PatchObject:
    return PatchObject(
        ref=PODS, namespace=namespace, name=name, patch=patch, kind="strategic", subresource="status"
    )


def _condition(kind: str, status: str, reason: str, message: str, now: float) -> dict[str, str]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": age.format_seconds(now),
    }


def _event(namespace: str, name: str, uid: str, kind: str, reason: str, message: str) -> RecordEvent:
    about = {"kind": "Pod", "apiVersion": "v1", "namespace": namespace, "name": name, "uid": uid}
    return RecordEvent(about=about, type=kind, reason=reason, message=message, component=COMPONENT)
