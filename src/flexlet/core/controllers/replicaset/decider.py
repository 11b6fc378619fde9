"""Creates and deletes the pods of ReplicaSets, adopts and releases, reports.

Follows ``pkg/controller/replicaset``. A look either changes the number of pods or reports, since the report of a
round that creates pods is out of date when it arrives; only when it lags far behind is it sent all the same.
Creates start slowly and double, at most 500 a round, so that a quota refuses a few pods and not all.
"""

from collections.abc import Iterable
from typing import Final

from flexlet.core.actions import ApiAction, ApiPlan, CreateObject, DeleteObject, RecordEvent
from flexlet.core.controllers import readiness, refusals, removal, templates
from flexlet.core.controllers.adoption import Adoption
from flexlet.core.controllers.queue import WorkQueue
from flexlet.core.controllers.replicaset import status
from flexlet.core.controllers.replicaset.group import Group
from flexlet.core.controllers.roster import Roster
from flexlet.core.observations import Absent, Failed, Observation, Seen, Vanished, view_of
from flexlet.core.refs import PODS, REPLICA_SETS
from flexlet.core.views import pod as pods
from flexlet.core.views import replicaset
from flexlet.core.views.pod import PodView
from flexlet.core.views.replicaset import ReplicaSetView

CONTROLLER: Final = templates.Controller("apps/v1", "ReplicaSet")
COMPONENT: Final = "replicaset-controller"
BURST: Final = 500
FIRST_BATCH: Final = 16


class ReplicaSetDecider:
    """Owns the picture of all ReplicaSets and of the pods they have or might adopt."""

    name = "replicaset"

    def __init__(self) -> None:
        self._sets: dict[str, ReplicaSetView] = {}
        self._siblings: dict[str, set[str]] = {}
        self._pods: Roster[PodView, Group] = Roster(CONTROLLER, Group)
        self._adoption = Adoption(REPLICA_SETS, PODS, CONTROLLER)
        self._queue = WorkQueue()
        self._batch: dict[str, int] = {}
        self._failure: dict[str, tuple[str, str]] = {}
        self._untold: list[RecordEvent] = []

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        match observation:
            case Seen(ref=ref) if ref == PODS:
                self._look_at(self._pods.seen(view_of(observation, PodView, pods.view)))
            case Seen(ref=ref) if ref == REPLICA_SETS:
                self._set_seen(view_of(observation, ReplicaSetView, replicaset.view))
            case Vanished(ref=ref, uid=uid) if ref == PODS:
                self._look_at(self._pods.gone(uid, observation.namespace))
            case Vanished(ref=ref, uid=uid) if ref == REPLICA_SETS:
                self._set_gone(uid)
            case Absent(ref=ref, namespace=namespace, name=name) if ref == REPLICA_SETS:
                for uid in [s.uid for s in self._sets.values() if (s.namespace, s.name) == (namespace, name)]:
                    self._set_gone(uid)
            case Failed():
                self._failed(observation)
            case _:
                pass

    def decide(self, now: float) -> ApiPlan:
        """What the ReplicaSets that changed, or whose time has come, need."""
        actions: list[ApiAction] = [*self._untold]
        self._untold.clear()
        budget = BURST
        for uid in self._queue.take(now):
            rs = self._sets.get(uid)
            if rs is None:
                continue
            if budget <= 0:
                self._queue.add(uid)
                continue
            found = self._look(rs, now, budget)
            budget -= sum(isinstance(action, CreateObject) for action in found)
            actions += found
            if not found:
                self._queue.forgive(uid)
        return ApiPlan(tuple(actions), wake_at=self._queue.wake_at)

    def _look(self, rs: ReplicaSetView, now: float, budget: int) -> list[ApiAction]:
        group = self._pods.crew(rs.uid)
        actions = self._adoption.release(rs, group.strays.values())
        actions += self._adopt(rs)
        if not actions and not rs.deleting and not self._queue.held(rs.uid):
            actions += self._correct(rs, group, now, budget)
        if actions and abs(group.active - rs.status.replicas) < BURST:
            return actions
        return actions + self._report(rs, group, now)

    def _adopt(self, rs: ReplicaSetView) -> list[ApiAction]:
        actions = self._adoption.adopt(rs, [pod for pod in self._pods.adoptable(rs.uid) if pod.active])
        if actions:
            self._queue.add(rs.uid)
        return actions

    def _correct(self, rs: ReplicaSetView, group: Group, now: float, budget: int) -> list[ApiAction]:
        """Create what is missing or delete what is too much."""
        missing = rs.replicas - group.active
        if missing > 0:
            self._failure.pop(rs.uid, None)
            batch = self._batch.get(rs.uid, FIRST_BATCH)
            self._batch[rs.uid] = batch * 2
            return [self._create(rs) for _ in range(min(missing, batch, budget))]
        self._batch.pop(rs.uid, None)
        self._failure.pop(rs.uid, None)
        if not missing:
            return []
        doomed = removal.first_to_go(group.active_pods(), min(-missing, BURST), now, self._related(rs))
        return [self._delete(rs, group, pod) for pod in doomed]

    def _create(self, rs: ReplicaSetView) -> CreateObject:
        return CreateObject(
            ref=PODS,
            namespace=rs.namespace,
            body=templates.pod_body(rs.template, CONTROLLER, rs),
            on_behalf_of=rs.uid,
            event=_event(rs, "Normal", "SuccessfulCreate", "Created pod: {name}"),
        )

    def _delete(self, rs: ReplicaSetView, group: Group, pod: PodView) -> DeleteObject:
        group.send_away(pod)
        return DeleteObject(
            ref=PODS,
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            on_behalf_of=rs.uid,
            event=_event(rs, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}"),
        )

    def _related(self, rs: ReplicaSetView) -> list[PodView]:
        """Active pods of all ReplicaSets that the same controller has."""
        owner = rs.controller
        uids = self._siblings.get(owner.uid, {rs.uid}) if owner else {rs.uid}
        return [pod for uid in uids for pod in self._pods.crew(uid).active_pods()]

    def _report(self, rs: ReplicaSetView, group: Group, now: float) -> list[ApiAction]:
        wanted = status.reported(rs, group, self._failure.get(rs.uid), now)
        if wanted.ready_replicas != wanted.available_replicas:
            recheck = readiness.next_available(group.active_pods(), rs.min_ready_seconds, now)
            if recheck is not None:
                self._queue.add_at(rs.uid, recheck)
        return [] if wanted == rs.status else [status.patch(rs, wanted)]

    def _look_at(self, uids: Iterable[str]) -> None:
        for uid in uids:
            self._queue.add(uid)

    def _set_seen(self, rs: ReplicaSetView) -> None:
        before = self._sets.get(rs.uid)
        if before == rs:
            return
        if before is not None and before.generation != rs.generation:
            self._queue.forgive(rs.uid)
        self._sets[rs.uid] = rs
        if rs.controller is not None:
            self._siblings.setdefault(rs.controller.uid, set()).add(rs.uid)
        self._pods.owner_seen(rs.uid, rs.namespace, rs.selector)
        self._pods.crew(rs.uid).govern(rs)
        self._queue.add(rs.uid)

    def _set_gone(self, uid: str) -> None:
        rs = self._sets.pop(uid, None)
        if rs is None:
            return
        self._pods.owner_gone(uid, rs.namespace)
        if rs.controller is not None:
            self._leave_siblings(rs.controller.uid, uid)
        self._batch.pop(uid, None)
        self._failure.pop(uid, None)
        self._adoption.start_over(uid)
        self._queue.drop(uid)

    def _leave_siblings(self, owner: str, uid: str) -> None:
        siblings = self._siblings.get(owner, set())
        siblings.discard(uid)
        if not siblings:
            self._siblings.pop(owner, None)

    def _failed(self, failed: Failed) -> None:
        action = failed.action
        if isinstance(action, RecordEvent) or action.on_behalf_of not in self._sets:
            return
        uid = action.on_behalf_of
        self._adoption.start_over(uid)
        self._queue.refused(uid)
        if isinstance(action, CreateObject):
            self._batch[uid] = 1
            self._tell_failure(uid, failed, "FailedCreate", f"Error creating: {failed.message}")
        elif isinstance(action, DeleteObject):
            self._pods.crew(uid).take_back(action.uid)
            self._tell_failure(uid, failed, "FailedDelete", f"Error deleting: {failed.message}")

    def _tell_failure(self, uid: str, failed: Failed, reason: str, text: str) -> None:
        if not refusals.is_ending_namespace(failed):
            self._failure[uid] = (reason, failed.message)
            self._untold.append(_event(self._sets[uid], "Warning", reason, text))


def _event(rs: ReplicaSetView, kind: str, reason: str, message: str) -> RecordEvent:
    return RecordEvent(about=CONTROLLER.about(rs), type=kind, reason=reason, message=message, component=COMPONENT)
