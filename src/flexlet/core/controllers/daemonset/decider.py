"""Keeps daemon pods on the nodes they belong to, updates them, reports.

Follows ``pkg/controller/daemon``. Only nodes on which something changed are judged again; an update looks at all
nodes, but only while pods of an old template are left.
"""

from functools import partial
from typing import Final

from flexlet.core.actions import ApiAction, ApiPlan, CreateObject, DeleteObject
from flexlet.core.controllers import readiness, refusals
from flexlet.core.controllers.daemonset import placement, updating, verdict
from flexlet.core.controllers.daemonset.fleet import Fleet
from flexlet.core.controllers.daemonset.placement import CONTROLLER
from flexlet.core.controllers.owners import Changed, Owners, Refused, Sort
from flexlet.core.observations import Failed, Observation, Seen, Vanished, view_of
from flexlet.core.refs import DAEMON_SETS, NODES, PODS
from flexlet.core.views import daemonset, node
from flexlet.core.views import pod as pods
from flexlet.core.views.daemonset import DaemonSetStatus, DaemonSetView
from flexlet.core.views.node import NodeView
from flexlet.core.views.pod import PodView

BURST: Final = 500
_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 900.0


class DaemonSetDecider:
    """Owns the picture of all DaemonSets, of their pods, and of the nodes."""

    name = "daemonset"

    def __init__(self) -> None:
        self._owners: Owners[DaemonSetView, PodView, Fleet] = Owners(
            CONTROLLER,
            Sort(DAEMON_SETS, DaemonSetView, daemonset.view),
            Sort(PODS, PodView, pods.view),
            Fleet,
        )
        self._pods = self._owners.things
        self._queue = self._owners.queue
        self._nodes: dict[str, NodeView] = {}

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        match observation:
            case Seen(ref=ref) if ref == NODES:
                self._node_seen(view_of(observation, NodeView, node.view))
            case Vanished(ref=ref, name=name) if ref == NODES:
                self._nodes.pop(name, None)
                self._node_changed(name)
            case _:
                self._learn(observation)

    def _learn(self, observation: Observation) -> None:
        for news in self._owners.fold(observation):
            match news:
                case Changed(owner=ds, before=before):
                    self._changed(ds, before)
                case Refused(owner=DaemonSetView() as ds, failed=failed):
                    self._refused(ds, failed)
                case _:
                    pass

    def decide(self, now: float) -> ApiPlan:
        """What the DaemonSets that changed, or whose time has come, need."""
        actions = self._owners.take_untold()
        for uid in self._queue.take(now):
            ds = self._owners.get(uid)
            if ds is None or ds.deleting:
                continue
            if len(actions) >= BURST:
                self._queue.add(uid)
                continue
            found = self._queue.attempt(uid, partial(self._look, ds, now), ds.key)
            actions += found
            if not found:
                self._queue.forgive(uid)
        return ApiPlan(tuple(actions), wake_at=self._queue.wake_at, faults=self._queue.take_faults())

    def _look(self, ds: DaemonSetView, now: float) -> list[ApiAction]:
        fleet = self._pods.crew(ds.uid)
        strays = [pod for pod in fleet.changed_pods() if not ds.selector.matches(pod.labels)]
        actions = self._owners.release(ds, strays) + self._owners.adopt(ds, self._pods.adoptable(ds.uid))
        if not actions and not self._queue.held(ds.uid):
            actions = self._correct(ds, fleet, now) or self._update(ds, fleet, now)
        return actions or self._report(ds, fleet, now)

    def _correct(self, ds: DaemonSetView, fleet: Fleet, now: float) -> list[ApiAction]:
        """Judge the nodes that changed; those that need something stay changed until it shows."""
        fleet.changed |= {name for name, when in fleet.pending.items() if when <= now}
        actions: list[ApiAction] = []
        for name in sorted(fleet.changed):
            here = self._nodes.get(name)
            found = self._judged(ds, fleet, here, now) if here else self._abandoned(ds, fleet, name)
            fleet.mark(name, verdict.mark_of(ds, fleet, here, now) if here else None)
            self._expect_availability(ds, fleet, name, now)
            if not found:
                fleet.changed.discard(name)
            actions += found
            if len(actions) >= BURST:
                self._queue.add(ds.uid)
                break
        return actions

    def _judged(self, ds: DaemonSetView, fleet: Fleet, here: NodeView, now: float) -> list[ApiAction]:
        judgement = verdict.judge(ds, fleet, here, now)
        actions: list[ApiAction] = [_create(ds, here.name)] if judgement.create else []
        for pod in judgement.ended:
            actions += self._end(ds, fleet, pod, now)
        return actions + [_delete(ds, fleet, pod) for pod in judgement.delete]

    def _abandoned(self, ds: DaemonSetView, fleet: Fleet, name: str) -> list[ApiAction]:
        """Pods that wait for a node that is gone; those that were bound are the pod collector's."""
        return [_delete(ds, fleet, pod) for pod in fleet.on(name) if not pod.node and not fleet.is_going(pod)]

    def _end(self, ds: DaemonSetView, fleet: Fleet, pod: PodView, now: float) -> list[ApiAction]:
        """Delete a pod that ended, so that it is replaced; a failing one ever more rarely."""
        where = f"daemon pod {pod.namespace}/{pod.name} on node {pod.target}"
        if pod.phase == "Succeeded":
            text = f"Found succeeded {where}, will try to delete it"
            event = CONTROLLER.event(ds, "Normal", "SucceededDaemonPod", text)
            return [event, _delete(ds, fleet, pod)]
        pause, since = fleet.failures.get(pod.target, (_FIRST_PAUSE_S / 2, float("-inf")))
        if now < since + pause:
            self._queue.add_at(ds.uid, since + pause)
            fleet.pending[pod.target] = since + pause
            return []
        fleet.failures[pod.target] = (min(pause * 2, _LONGEST_PAUSE_S), now)
        event = CONTROLLER.event(ds, "Warning", "FailedDaemonPod", f"Found failed {where}, will try to kill it")
        return [event, _delete(ds, fleet, pod)]

    def _expect_availability(self, ds: DaemonSetView, fleet: Fleet, name: str, now: float) -> None:
        when = readiness.next_available(fleet.on(name), ds.min_ready_seconds, now)
        if when is not None:
            fleet.pending[name] = when
            self._queue.add_at(ds.uid, when)
        elif fleet.pending.get(name, now) <= now:
            fleet.pending.pop(name, None)

    def _update(self, ds: DaemonSetView, fleet: Fleet, now: float) -> list[ApiAction]:
        step = updating.replacement(ds, fleet, self._nodes, now)
        actions: list[ApiAction] = [_create(ds, name) for name in step.create]
        return actions + [_delete(ds, fleet, pod) for pod in step.delete]

    def _report(self, ds: DaemonSetView, fleet: Fleet, now: float) -> list[ApiAction]:
        for name in fleet.changed:
            here = self._nodes.get(name)
            fleet.mark(name, verdict.mark_of(ds, fleet, here, now) if here else None)
        wanted = DaemonSetStatus(
            current_number_scheduled=fleet.count("current"),
            number_misscheduled=fleet.count("misscheduled"),
            desired_number_scheduled=fleet.count("desired"),
            number_ready=fleet.count("ready"),
            observed_generation=ds.generation,
            updated_number_scheduled=fleet.count("updated"),
            number_available=fleet.count("available"),
            number_unavailable=fleet.count("desired") - fleet.count("available"),
        )
        return [] if wanted == ds.status else [self._owners.report(ds, {"status": _value(wanted)})]

    def _node_seen(self, seen: NodeView) -> None:
        before = self._nodes.get(seen.name)
        self._nodes[seen.name] = seen
        if before is None or before.labels != seen.labels or before.taints != seen.taints:
            self._node_changed(seen.name)

    def _node_changed(self, name: str) -> None:
        for uid in self._owners:
            self._pods.crew(uid).reconsider((name,))
            self._queue.add(uid)

    def _changed(self, ds: DaemonSetView, before: DaemonSetView | None) -> None:
        if before is None or before.generation != ds.generation:
            fleet = self._pods.crew(ds.uid)
            fleet.reconsider({*self._nodes, *fleet.nodes()})

    def _refused(self, ds: DaemonSetView, failed: Failed) -> None:
        action = failed.action
        if isinstance(action, DeleteObject):
            self._pods.crew(ds.uid).take_back(action.uid)
            self._tell(ds, "FailedDelete", f"Error deleting: {failed.message}")
        elif isinstance(action, CreateObject) and not refusals.is_ending_namespace(failed):
            self._tell(ds, "FailedCreate", f"Error creating: {failed.message}")

    def _tell(self, ds: DaemonSetView, reason: str, text: str) -> None:
        self._owners.untold.append(CONTROLLER.event(ds, "Warning", reason, text))


def _create(ds: DaemonSetView, name: str) -> CreateObject:
    return CONTROLLER.create_pod(ds, placement.body(ds, name))


def _delete(ds: DaemonSetView, fleet: Fleet, pod: PodView) -> DeleteObject:
    fleet.send_away(pod)
    return CONTROLLER.delete_pod(ds, pod)


def _value(status: DaemonSetStatus) -> dict[str, int | None]:
    """Counts that are zero are absent on the wire, except the first four."""
    return {
        "currentNumberScheduled": status.current_number_scheduled,
        "numberMisscheduled": status.number_misscheduled,
        "desiredNumberScheduled": status.desired_number_scheduled,
        "numberReady": status.number_ready,
        "observedGeneration": status.observed_generation or None,
        "updatedNumberScheduled": status.updated_number_scheduled or None,
        "numberAvailable": status.number_available or None,
        "numberUnavailable": status.number_unavailable or None,
    }
