"""Pods that nobody else will remove: on nodes that are gone, ended ones beyond a number, and stuck ones.

Follows ``pkg/controller/podgc``. A node that is missing gets a quarantine, since watches of pods and nodes do not
wait for each other, and is looked up past the watch before its pods are given up. Such pods are first marked
Failed, because no kubelet is left to do so, and then deleted without grace.
"""

from functools import partial
from heapq import nsmallest
from typing import Final

from flexlet.core.actions import ApiAction, ApiPlan, DeleteObject, LookUp, PatchObject
from flexlet.core.controllers import podmarks
from flexlet.core.controllers.placed import PlacedPods
from flexlet.core.controllers.queue import WorkQueue
from flexlet.core.observations import Absent, Failed, Observation, Seen, Vanished, view_of
from flexlet.core.refs import NODES, PODS
from flexlet.core.views import objects
from flexlet.core.views import pod as pods
from flexlet.core.views.objects import ObjectView
from flexlet.core.views.pod import PodView

THRESHOLD: Final = 12_500
QUARANTINE_S: Final = 40.0
BURST: Final = 500


class PodGcDecider:
    """Owns the names of nodes, and the pods that may need removing."""

    name = "podgc"

    def __init__(self, threshold: int = THRESHOLD) -> None:
        self._threshold = threshold
        self._nodes: set[str] = set()
        self._gone: set[str] = set()
        self._placed = PlacedPods()
        self._stuck: dict[str, PodView] = {}
        self._ended: dict[str, PodView] = {}
        self._deleted: set[str] = set()
        self._missing = WorkQueue()
        self._quarantined: set[str] = set()
        self._doomed = WorkQueue()

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        match observation:
            case Seen(ref=ref) if ref == PODS:
                self._pod_seen(view_of(observation, PodView, pods.view))
            case Seen(ref=ref) if ref == NODES:
                self._node_seen(view_of(observation, ObjectView, objects.view).name)
            case Vanished(ref=ref, uid=uid) if ref == PODS:
                self._pod_gone(uid)
            case Vanished(ref=ref, name=name) if ref == NODES:
                self._nodes.discard(name)
                self._missing.add(name)
            case Absent(ref=ref, name=name) if ref == NODES and name not in self._nodes:
                self._give_up(name)
            case Failed(action=LookUp(name=name)):
                self._missing.refused(name)
            case Failed(action=PatchObject() | DeleteObject() as action):
                self._deleted.discard(action.on_behalf_of)
                self._doomed.refused(action.on_behalf_of)
            case _:
                pass

    def decide(self, now: float) -> ApiPlan:
        """Whom to remove, and which nodes to look up."""
        actions: list[ApiAction] = [*self._look_up(now)]
        for uid in self._doomed.take(now):
            if len(actions) >= BURST:
                self._doomed.add(uid)
            elif not self._doomed.held(uid):
                actions += self._doomed.attempt(uid, partial(self._remove, uid, now))
        actions += self._overflow()
        alarms = [alarm for alarm in (self._missing.wake_at, self._doomed.wake_at) if alarm is not None]
        return ApiPlan(tuple(actions), wake_at=min(alarms, default=None), faults=self._doomed.take_faults())

    def _look_up(self, now: float) -> list[ApiAction]:
        """Nodes that pods name and that have been missing for long enough."""
        asked: list[ApiAction] = []
        for name in self._missing.take(now):
            if name in self._nodes or name in self._gone or not self._placed.on(name):
                self._quarantined.discard(name)
            elif name not in self._quarantined:
                self._quarantined.add(name)
                self._missing.add_at(name, now + QUARANTINE_S)
            elif not self._missing.held(name):
                asked.append(LookUp(ref=NODES, name=name))
        return asked

    def _remove(self, uid: str, now: float) -> list[ApiAction]:
        pod = self._placed.get(uid) or self._stuck.get(uid)
        if pod is None or uid in self._deleted:
            return []
        if pod.finished:
            return [self._delete(pod)]
        status: dict[str, object] = {"phase": "Failed"}
        if pod.node:
            reason = podmarks.disruption("DeletionByPodGC", "PodGC: node no longer exists", now)
            status["conditions"] = [reason]
        return [podmarks.status_patch(pod, status)]

    def _overflow(self) -> list[ApiAction]:
        """The oldest of the ended pods beyond the number that is kept, evicted ones first."""
        excess = len(self._ended) - len(self._deleted & self._ended.keys()) - self._threshold
        if excess <= 0:
            return []
        waiting = (pod for pod in self._ended.values() if pod.uid not in self._deleted)
        oldest = nsmallest(excess, waiting, key=lambda pod: (not pod.evicted, pod.created, pod.name))
        return [self._delete(pod) for pod in oldest[:BURST]]

    def _delete(self, pod: PodView) -> DeleteObject:
        self._deleted.add(pod.uid)
        return DeleteObject(
            ref=PODS,
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            grace_seconds=0,
            on_behalf_of=pod.uid,
        )

    def _pod_seen(self, pod: PodView) -> None:
        before = self._placed.put(pod)
        if before == pod:
            return
        if pod.finished:
            self._ended[pod.uid] = pod
        if pod.deleting and not pod.node:
            self._stuck[pod.uid] = pod
            self._doomed.add(pod.uid)
        elif pod.node in self._gone:
            self._doomed.add(pod.uid)
        elif pod.node and pod.node not in self._nodes:
            self._missing.add(pod.node)

    def _pod_gone(self, uid: str) -> None:
        self._placed.remove(uid)
        self._stuck.pop(uid, None)
        self._ended.pop(uid, None)
        self._deleted.discard(uid)
        self._doomed.drop(uid)

    def _node_seen(self, name: str) -> None:
        self._nodes.add(name)
        self._gone.discard(name)

    def _give_up(self, name: str) -> None:
        self._gone.add(name)
        self._quarantined.discard(name)
        for pod in self._placed.on(name):
            self._doomed.add(pod.uid)
