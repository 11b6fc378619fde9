"""The decider behind all hollow nodes of a process.

It keeps, per pod, just what the next decision needs: the node, the granted totals, and the pod itself only while
something is left to do for it (start, resize, finish, end). The API's copy of the status is the durable record:
after a restart the allocation is read back from it, so that resizes go on where they were.
"""

import heapq
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from flexlet.api import decode
from flexlet.api.node import Node
from flexlet.api.pod import Pod
from flexlet.core.actions import ApiAction, ApiPlan, DeleteObject, PatchObject
from flexlet.core.hollow import addresses, podstatus, resizing
from flexlet.core.hollow.machine import DECLARED_FEATURES, Machine
from flexlet.core.hollow.registry import Registry
from flexlet.core.observations import Failed, Observation, Seen, Vanished
from flexlet.core.refs import NODES, PODS
from flexlet.core.resize import allocation, room
from flexlet.core.resize.allocation import Allocation
from flexlet.core.resize.verdict import Deferred, Granted
from flexlet.core.resources import amounts, effective, fit

RUN_SECONDS_ANNOTATION: Final = "hollow.flexlet.io/run-seconds"
BATCH: Final = 1000
_UNSEEN: Final = -1


class HollowPod(msgspec.Struct):
    """A pod on a hollow node."""

    node: str
    held: dict[str, int]
    allocation: Allocation
    generation: int
    address: int
    waiting: Pod | None = None
    """The pod with a resize that was refused for now."""


class Fleet:
    """Owns the hollow nodes of one process."""

    name = "hollow-nodes"

    def __init__(
        self, names: tuple[str, ...], machine: Machine, version: str, features: Iterable[str] = DECLARED_FEATURES
    ) -> None:
        self._registry = Registry(names, machine, version, features)
        self.nodes = self._registry.nodes
        self._pods: dict[str, HollowPod] = {}
        self._todo: dict[str, Pod] = {}
        self._doubted: dict[str, Pod] = {}
        self._retry: set[str] = set()
        self._finish: list[tuple[float, str, Pod]] = []
        self._addresses = 0

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        match observation:
            case Seen(ref=ref, raw=raw) if ref == PODS:
                self._pod_seen(decode.from_json(raw, Pod))
            case Seen(ref=ref, raw=raw) if ref == NODES:
                self._node_seen(decode.from_json(raw, Node))
            case Vanished(ref=ref, uid=uid) if ref == PODS:
                self._forget(uid)
            case Vanished(ref=ref, name=name) if ref == NODES and name in self.nodes:
                self._registry.gone(name)
            case Failed():
                self._registry.failed(observation)
            case _:
                pass

    def decide(self, now: float) -> ApiPlan:
        """Register, renew, start, resize, finish and end."""
        actions = self._registry.due(now)
        actions += self._ready_again(now)
        actions += self._finished(now)
        for uid in list(self._todo)[:BATCH]:
            actions += self._pod_actions(self._todo.pop(uid), now)
        for name in sorted(self._retry):
            actions += self._retry_node(name, now)
        self._retry.clear()
        wake = min(self._registry.next_due(), self._finish[0][0] if self._finish else float("inf"))
        return ApiPlan(tuple(actions), wake_at=now if self._todo else wake)

    def _node_seen(self, node: Node) -> None:
        if self._registry.seen(node):
            self._retry.add(node.metadata.name)

    def _pod_seen(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        if pod.spec.node_name not in self.nodes:
            return
        if pod.status.phase in {"Succeeded", "Failed"} and pod.metadata.deletion_timestamp is None:
            self._forget(uid)
            return
        known = self._pods.get(uid)
        if known is None:
            known = self._restored(pod)
        if pod.metadata.deletion_timestamp is not None or known is None:
            self._todo[uid] = pod
        elif known.generation != pod.metadata.generation:
            known.waiting = None
            self._todo[uid] = pod
        elif known.waiting is not None:
            known.waiting = pod
        if known is not None and podstatus.is_doubted(pod):
            self._doubted[uid] = pod
        else:
            self._doubted.pop(uid, None)

    def _restored(self, pod: Pod) -> HollowPod | None:
        """A pod that an earlier run of the fleet had started."""
        granted = allocation.of_status(pod)
        if granted is None:
            return None
        known = self._hold(pod, granted)
        known.address = addresses.index_of(pod.status.pod_ip) or known.address
        self._addresses = max(self._addresses, known.address)
        if granted != allocation.of_spec(pod) or pod.status.observed_generation != pod.metadata.generation:
            known.generation = _UNSEEN
        return known

    def _hold(self, pod: Pod, granted: Allocation) -> HollowPod:
        """Count what is granted, in place of what was."""
        uid, node = pod.metadata.uid, self.nodes[pod.spec.node_name]
        before = self._release(uid)
        held = amounts.as_integers(effective.pod_requests(allocation.applied(pod, granted)))
        for name, amount in held.items():
            node.used[name] = node.used.get(name, 0) + amount
        node.pods.add(uid)
        if before is None:
            self._addresses += 1
        address = before.address if before is not None else self._addresses
        entry = HollowPod(node.name, held, granted, pod.metadata.generation, address)
        self._pods[uid] = entry
        if before is not None and any(held.get(name, 0) < amount for name, amount in before.held.items()):
            self._retry.add(node.name)
        return entry

    def _release(self, uid: str) -> HollowPod | None:
        pod = self._pods.pop(uid, None)
        if pod is None:
            return None
        node = self.nodes[pod.node]
        for name, amount in pod.held.items():
            node.used[name] -= amount
        node.pods.discard(uid)
        return pod

    def _forget(self, uid: str) -> None:
        self._todo.pop(uid, None)
        self._doubted.pop(uid, None)
        gone = self._release(uid)
        if gone is not None:
            self._retry.add(gone.node)

    def _pod_actions(self, pod: Pod, now: float) -> list[ApiAction]:
        meta = pod.metadata
        if meta.deletion_timestamp is not None:
            end = DeleteObject(ref=PODS, namespace=meta.namespace, name=meta.name, uid=meta.uid, grace_seconds=0)
            return [end]
        known = self._pods.get(meta.uid)
        return self._start(pod, now) if known is None else self._resize(pod, known, now)

    def _start(self, pod: Pod, now: float) -> list[ApiAction]:
        node = self.nodes[pod.spec.node_name]
        short = fit.shortages(effective.pod_requests(pod), node.machine.allocatable(), node.used, len(node.pods))
        if short:
            reason, message = f"OutOf{short[0].resource}", room.out_of(short[0])
            return [_report(pod, podstatus.rejected(pod, reason, message, now))]
        known = self._hold(pod, allocation.of_spec(pod))
        seconds = _run_seconds(pod)
        if seconds is not None:
            heapq.heappush(self._finish, (now + seconds, pod.metadata.uid, pod))
        return [_report(pod, self._running(pod, known, now))]

    def _running(self, pod: Pod, known: HollowPod, now: float) -> dict[str, Any]:
        return podstatus.running(pod, known.allocation, ip=addresses.address_of(known.address), now=now)

    def _resize(self, pod: Pod, known: HollowPod, now: float) -> list[ApiAction]:
        node = self.nodes[known.node]
        others = {name: amount - known.held.get(name, 0) for name, amount in node.used.items()}
        verdict = room.ask(pod, known.allocation, others, node.machine.allocatable())
        known.generation = pod.metadata.generation
        if isinstance(verdict, Granted):
            changed = allocation.of_spec(pod) != known.allocation
            held = self._hold(pod, allocation.of_spec(pod))
            told = resizing.completed(pod) if changed else []
            return [_report(pod, self._running(pod, held, now)), *told]
        known.waiting = pod if isinstance(verdict, Deferred) else None
        status = podstatus.pending_resize(pod, type(verdict).__name__, verdict.message, now)
        return [_report(pod, status), *resizing.refused(pod, verdict)]

    def _retry_node(self, name: str, now: float) -> list[ApiAction]:
        """Ask again for those who wait, in the order the specification gives."""
        waiting = [(uid, self._pods[uid]) for uid in self.nodes[name].pods if self._pods[uid].waiting is not None]
        waiting.sort(key=lambda entry: resizing.order(entry[1].waiting, entry[1].allocation))
        actions: list[ApiAction] = []
        for _, entry in waiting:
            if entry.waiting is not None:
                actions += self._retry_one(entry.waiting, entry, now)
        return actions

    def _retry_one(self, pod: Pod, known: HollowPod, now: float) -> list[ApiAction]:
        node = self.nodes[known.node]
        others = {name: amount - known.held.get(name, 0) for name, amount in node.used.items()}
        verdict = room.ask(pod, known.allocation, others, node.machine.allocatable())
        return self._resize(pod, known, now) if isinstance(verdict, Granted) else []

    def _ready_again(self, now: float) -> list[ApiAction]:
        """Pods of a node that nobody heard of were called unready, and are not."""
        found = [pod for pod in self._doubted.values() if self._registry.is_well(pod.spec.node_name)]
        for pod in found:
            del self._doubted[pod.metadata.uid]
        return [_report(pod, podstatus.ready(pod, now), "strategic") for pod in found]

    def _finished(self, now: float) -> list[ApiAction]:
        actions: list[ApiAction] = []
        while self._finish and self._finish[0][0] <= now:
            _, uid, pod = heapq.heappop(self._finish)
            known = self._pods.get(uid)
            if known is not None:
                actions.append(_report(pod, podstatus.succeeded(pod, known.allocation, now)))
        return actions


def _report(pod: Pod, status: dict[str, Any], kind: str = "merge") -> PatchObject:
    meta = pod.metadata
    return PatchObject(
        ref=PODS,
        namespace=meta.namespace,
        name=meta.name,
        patch={"metadata": {"uid": meta.uid}, "status": status},
        kind=kind,
        subresource="status",
    )


def _run_seconds(pod: Pod) -> float | None:
    """How long the pod pretends to work; None means until it is deleted."""
    text = pod.metadata.annotations.get(RUN_SECONDS_ANNOTATION)
    if text is not None:
        return float(text) if text.replace(".", "", 1).isdigit() else None
    return 1.0 if any(ref.kind == "Job" and ref.controller for ref in pod.metadata.owner_references) else None
