"""Creates and deletes the pods of ReplicaSets, adopts and releases, reports.

Follows ``pkg/controller/replicaset``. A look either changes the number of pods or reports, since the report of a
round that creates pods is out of date when it arrives; only when it lags far behind is it sent all the same.
Creates start slowly and double, at most 500 a round, so that a quota refuses a few pods and not all.
"""

from functools import partial
from typing import Final

from flexlet.core.actions import ApiAction, ApiPlan, CreateObject, DeleteObject
from flexlet.core.controllers import readiness, refusals, removal, templates
from flexlet.core.controllers.controller import Controller
from flexlet.core.controllers.owners import Changed, Gone, Owners, Refused, Sort
from flexlet.core.controllers.replicaset import status
from flexlet.core.controllers.replicaset.group import Group
from flexlet.core.observations import Failed, Observation
from flexlet.core.refs import PODS, REPLICA_SETS
from flexlet.core.views import pod as pods
from flexlet.core.views import replicaset
from flexlet.core.views.pod import PodView
from flexlet.core.views.replicaset import ReplicaSetView

CONTROLLER: Final = Controller("apps/v1", "ReplicaSet")
BURST: Final = 500
FIRST_BATCH: Final = 16


class ReplicaSetDecider:
    """Owns the picture of all ReplicaSets and of the pods they have or might adopt."""

    name = "replicaset"

    def __init__(self) -> None:
        self._owners: Owners[ReplicaSetView, PodView, Group] = Owners(
            CONTROLLER,
            Sort(REPLICA_SETS, ReplicaSetView, replicaset.view),
            Sort(PODS, PodView, pods.view),
            Group,
        )
        self._pods = self._owners.things
        self._queue = self._owners.queue
        self._siblings: dict[str, set[str]] = {}
        self._batch: dict[str, int] = {}
        self._failure: dict[str, tuple[str, str]] = {}

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        for news in self._owners.fold(observation):
            match news:
                case Changed(owner=rs):
                    self._changed(rs)
                case Gone(owner=rs):
                    self._gone(rs)
                case Refused(owner=ReplicaSetView() as rs, failed=failed):
                    self._refused(rs, failed)

    def decide(self, now: float) -> ApiPlan:
        """What the ReplicaSets that changed, or whose time has come, need."""
        actions = self._owners.take_untold()
        budget = BURST
        for uid in self._queue.take(now):
            rs = self._owners.get(uid)
            if rs is None:
                continue
            if budget <= 0:
                self._queue.add(uid)
                continue
            found = self._queue.attempt(uid, partial(self._look, rs, now, budget), rs.key)
            budget -= sum(isinstance(action, CreateObject) for action in found)
            actions += found
            if not found:
                self._queue.forgive(uid)
        return ApiPlan(tuple(actions), wake_at=self._queue.wake_at, faults=self._queue.take_faults())

    def _look(self, rs: ReplicaSetView, now: float, budget: int) -> list[ApiAction]:
        group = self._pods.crew(rs.uid)
        actions = self._owners.release(rs, group.strays.values())
        actions += self._owners.adopt(rs, [pod for pod in self._pods.adoptable(rs.uid) if pod.active])
        if not actions and not rs.deleting and not self._queue.held(rs.uid):
            actions += self._correct(rs, group, now, budget)
        if actions and abs(group.active - rs.status.replicas) < BURST:
            return actions
        return actions + self._report(rs, group, now)

    def _correct(self, rs: ReplicaSetView, group: Group, now: float, budget: int) -> list[ApiAction]:
        """Create what is missing or delete what is too much."""
        missing = rs.replicas - group.active
        if missing > 0:
            self._failure.pop(rs.uid, None)
            batch = self._batch.get(rs.uid, FIRST_BATCH)
            self._batch[rs.uid] = batch * 2
            return [_create(rs) for _ in range(min(missing, batch, budget))]
        self._batch.pop(rs.uid, None)
        self._failure.pop(rs.uid, None)
        if not missing:
            return []
        doomed = removal.first_to_go(group.active_pods(), min(-missing, BURST), now, self._related(rs))
        return [_delete(rs, group, pod) for pod in doomed]

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
        return [] if wanted == rs.status else [self._owners.report(rs, {"status": status.value(wanted)})]

    def _changed(self, rs: ReplicaSetView) -> None:
        if rs.controller is not None:
            self._siblings.setdefault(rs.controller.uid, set()).add(rs.uid)
        self._pods.crew(rs.uid).govern(rs)

    def _gone(self, rs: ReplicaSetView) -> None:
        if rs.controller is not None:
            self._leave_siblings(rs.controller.uid, rs.uid)
        self._batch.pop(rs.uid, None)
        self._failure.pop(rs.uid, None)

    def _leave_siblings(self, owner: str, uid: str) -> None:
        siblings = self._siblings.get(owner, set())
        siblings.discard(uid)
        if not siblings:
            self._siblings.pop(owner, None)

    def _refused(self, rs: ReplicaSetView, failed: Failed) -> None:
        action = failed.action
        if isinstance(action, CreateObject):
            self._batch[rs.uid] = 1
            self._tell_failure(rs, failed, "FailedCreate", f"Error creating: {failed.message}")
        elif isinstance(action, DeleteObject):
            self._pods.crew(rs.uid).take_back(action.uid)
            self._tell_failure(rs, failed, "FailedDelete", f"Error deleting: {failed.message}")

    def _tell_failure(self, rs: ReplicaSetView, failed: Failed, reason: str, text: str) -> None:
        if not refusals.is_ending_namespace(failed):
            self._failure[rs.uid] = (reason, failed.message)
            self._owners.untold.append(CONTROLLER.event(rs, "Warning", reason, text))


def _create(rs: ReplicaSetView) -> CreateObject:
    return CONTROLLER.create_pod(rs, templates.pod_body(rs.template, CONTROLLER, rs))


def _delete(rs: ReplicaSetView, group: Group, pod: PodView) -> DeleteObject:
    group.send_away(pod)
    return CONTROLLER.delete_pod(rs, pod)
