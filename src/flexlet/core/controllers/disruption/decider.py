"""Keeps the status of budgets in step with pods and the controllers of pods."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from flexlet.core.actions import ApiAction, ApiPlan, PatchObject, RecordEvent
from flexlet.core.controllers.disruption import status
from flexlet.core.controllers.disruption.cover import Cover
from flexlet.core.controllers.disruption.scales import Scales
from flexlet.core.controllers.queue import WorkQueue
from flexlet.core.observations import Failed, Observation, Seen, Vanished, view_of
from flexlet.core.refs import BUDGETS, DEPLOYMENTS, PODS, REPLICA_SETS
from flexlet.core.views import budget as budgets
from flexlet.core.views import deployment, replicaset
from flexlet.core.views import pod as pods
from flexlet.core.views.budget import BudgetStatus, BudgetView
from flexlet.core.views.deployment import DeploymentView
from flexlet.core.views.pod import PodView
from flexlet.core.views.replicaset import ReplicaSetView

COMPONENT: Final = "controllermanager"


class DisruptionDecider:
    """Owns the picture of all budgets and of the pods they cover."""

    name = "disruption"

    def __init__(self) -> None:
        self._budgets: dict[str, BudgetView] = {}
        self._inside: dict[str, set[str]] = {}
        self._covers: dict[str, Cover] = {}
        self._pods: dict[str, dict[str, PodView]] = {}
        self._scales = Scales()
        self._queue = WorkQueue()

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        match observation:
            case Seen(ref=ref) if ref == PODS:
                self._pod_seen(view_of(observation, PodView, pods.view))
            case Seen(ref=ref) if ref == BUDGETS:
                self._budget_seen(view_of(observation, BudgetView, budgets.view))
            case Seen(ref=ref) if ref == REPLICA_SETS:
                rs = view_of(observation, ReplicaSetView, replicaset.view)
                self._look_at(self._inside.get(rs.namespace, ()) if self._scales.set_seen(rs) else ())
            case Seen(ref=ref) if ref == DEPLOYMENTS:
                d = view_of(observation, DeploymentView, deployment.view)
                self._look_at(self._inside.get(d.namespace, ()) if self._scales.deployment_seen(d) else ())
            case Vanished(ref=ref, uid=uid) if ref == PODS:
                self._pod_gone(observation.namespace, uid)
            case Vanished(ref=ref, uid=uid) if ref == BUDGETS:
                self._budget_gone(uid)
            case Vanished(uid=uid, namespace=namespace):
                self._scales.gone(uid)
                self._look_at(self._inside.get(namespace, ()))
            case Failed(action=PatchObject(on_behalf_of=uid)):
                self._queue.refused(uid)
            case _:
                pass

    def decide(self, now: float) -> ApiPlan:
        """The reports that are out of date."""
        actions: list[ApiAction] = []
        for uid in self._queue.take(now):
            budget = self._budgets.get(uid)
            if budget is not None and not self._queue.held(uid):
                actions += self._queue.attempt(uid, partial(self._look, budget, now), budget.key)
        return ApiPlan(tuple(actions), wake_at=self._queue.wake_at, faults=self._queue.take_faults())

    def _look(self, budget: BudgetView, now: float) -> list[ApiAction]:
        cover = self._covers[budget.uid]
        event = None if len(cover) else _event(budget, "Normal", "NoPods", "No matching pods found")
        expectation = status.expectation(budget, cover, self._scales)
        if isinstance(expectation, str):
            wanted, recheck = status.failed(budget, expectation, now), None
            text = f"Failed to calculate the number of expected pods: {expectation}"
            event = _event(budget, "Warning", "CalculateExpectedPodCountFailed", text)
        else:
            wanted, recheck = status.reported(budget, cover, *expectation, now)
        if recheck is not None:
            self._queue.add_at(budget.uid, recheck)
        if wanted == budget.status:
            self._queue.forgive(budget.uid)
            return []
        return [_patch(budget, wanted, event)]

    def _look_at(self, uids: Iterable[str]) -> None:
        for uid in uids:
            self._queue.add(uid)

    def _pod_seen(self, pod: PodView) -> None:
        self._pods.setdefault(pod.namespace, {})[pod.uid] = pod
        for uid in self._inside.get(pod.namespace, ()):
            cover = self._covers[uid]
            covered = self._budgets[uid].selector.matches(pod.labels)
            if cover.put(pod) if covered else cover.remove(pod.uid):
                self._queue.add(uid)

    def _pod_gone(self, namespace: str, uid: str) -> None:
        self._pods.get(namespace, {}).pop(uid, None)
        self._look_at(one for one in self._inside.get(namespace, ()) if self._covers[one].remove(uid))

    def _budget_seen(self, budget: BudgetView) -> None:
        before = self._budgets.get(budget.uid)
        self._budgets[budget.uid] = budget
        self._inside.setdefault(budget.namespace, set()).add(budget.uid)
        if before is None or before.selector != budget.selector:
            cover = self._covers[budget.uid] = Cover()
            for pod in self._pods.get(budget.namespace, {}).values():
                if budget.selector.matches(pod.labels):
                    cover.put(pod)
        self._queue.add(budget.uid)

    def _budget_gone(self, uid: str) -> None:
        budget = self._budgets.pop(uid, None)
        if budget is not None:
            self._inside[budget.namespace].discard(uid)
            del self._covers[uid]
            self._queue.drop(uid)


def _patch(budget: BudgetView, wanted: BudgetStatus, event: RecordEvent | None) -> PatchObject:
    return PatchObject(
        ref=BUDGETS,
        namespace=budget.namespace,
        name=budget.name,
        patch={
            "metadata": {"resourceVersion": budget.resource_version},
            "status": status.value(budget.status, wanted),
        },
        subresource="status",
        on_behalf_of=budget.uid,
        event=event,
    )


def _event(budget: BudgetView, kind: str, reason: str, message: str) -> RecordEvent:
    about = {
        "kind": "PodDisruptionBudget",
        "apiVersion": "policy/v1",
        "namespace": budget.namespace,
        "name": budget.name,
        "uid": budget.uid,
    }
    return RecordEvent(about=about, type=kind, reason=reason, message=message, component=COMPONENT)
