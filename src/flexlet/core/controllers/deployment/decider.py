"""Drives rollouts: `rollout` says what the next step is, this module takes it.

Only ReplicaSets are watched; their reports say enough of the pods.
"""

from functools import partial
from typing import Any

import msgspec

from flexlet.core.actions import ApiAction, ApiPlan, CreateObject, DeleteObject, PatchObject
from flexlet.core.controllers import conditions, refusals
from flexlet.core.controllers.deployment import revisions, rollout, sizes, status
from flexlet.core.controllers.deployment.revisions import CONTROLLER
from flexlet.core.controllers.deployment.rollout import Memory, Step
from flexlet.core.controllers.owners import Changed, Gone, Owners, Refused, Sort
from flexlet.core.controllers.roster import Family
from flexlet.core.observations import Failed, Observation, Vanished
from flexlet.core.refs import DEPLOYMENTS, REPLICA_SETS
from flexlet.core.views import deployment, replicaset
from flexlet.core.views.deployment import DeploymentStatus, DeploymentView
from flexlet.core.views.replicaset import ReplicaSetView


class DeploymentDecider:
    """Owns the picture of all Deployments and of the ReplicaSets they have or might adopt."""

    name = "deployment"

    def __init__(self) -> None:
        self._owners: Owners[DeploymentView, ReplicaSetView, Family[ReplicaSetView]] = Owners(
            CONTROLLER,
            Sort(DEPLOYMENTS, DeploymentView, deployment.view),
            Sort(REPLICA_SETS, ReplicaSetView, replicaset.view),
            Family,
        )
        self._sets = self._owners.things
        self._queue = self._owners.queue
        self._created: dict[str, str] = {}
        self._refusals: dict[str, str] = {}
        self._collided: set[str] = set()
        self._dropped: set[str] = set()

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        if isinstance(observation, Vanished) and observation.ref == REPLICA_SETS:
            self._dropped.discard(observation.uid)
        for news in self._owners.fold(observation):
            match news:
                case Changed(owner=d):
                    self._changed(d)
                case Gone(owner=d):
                    self._gone(d.uid)
                case Refused(owner=DeploymentView() as d, failed=failed):
                    self._refused(d, failed)

    def decide(self, now: float) -> ApiPlan:
        """What the Deployments that changed, or whose time has come, need."""
        actions = self._owners.take_untold()
        for uid in self._queue.take(now):
            d = self._owners.get(uid)
            if d is not None:
                found = self._queue.attempt(uid, partial(self._look, d, now), d.key)
                actions += found
                if not found:
                    self._queue.forgive(uid)
        return ApiPlan(tuple(actions), wake_at=self._queue.wake_at, faults=self._queue.take_faults())

    def _look(self, d: DeploymentView, now: float) -> list[ApiAction]:
        everything = list(self._sets.crew(d.uid).values())
        owned = [rs for rs in everything if d.selector.matches(rs.labels)]
        actions = self._owners.release(d, [rs for rs in everything if rs not in owned])
        actions += self._owners.adopt(d, self._sets.adoptable(d.uid))
        if actions:
            return actions
        if d.selector.empty:
            return self._selecting_all(d)
        if d.deleting:
            return self._report(d, rollout.report(d, owned, now), "")
        if d.uid in self._collided and not self._queue.held(d.uid) and revisions.find_new(d, owned) is None:
            return self._count_collision(d)
        return self._take(d, owned, rollout.next_step(d, owned, self._memory(d.uid), now))

    def _memory(self, uid: str) -> Memory:
        refusal = self._refusals.get(uid, "") if self._queue.held(uid) else ""
        return Memory(created=self._created.get(uid, ""), refusal=refusal)

    def _take(self, d: DeploymentView, owned: list[ReplicaSetView], step: Step) -> list[ApiAction]:
        new = revisions.find_new(d, owned)
        if new is not None:
            self._refusals.pop(d.uid, None)
            self._collided.discard(d.uid)
        when = status.deadline(d, step.status)
        if when is not None:
            self._queue.add_at(d.uid, when)
        if step.create:
            return [self._create(d, owned)]
        actions: list[ApiAction] = []
        for rs in owned:
            annotations = step.annotations if new is not None and rs.uid == new.uid else {}
            actions += _resize(d, rs, step.sizes.get(rs.uid), annotations, is_new=rs is new)
        actions += [self._drop(d, rs) for rs in step.drop if rs.uid not in self._dropped]
        return actions + self._report(d, step.status, step.revision)

    def _create(self, d: DeploymentView, owned: list[ReplicaSetView]) -> CreateObject:
        size = sizes.starting_size(d, owned)
        body = revisions.body(d, size, revisions.next_revision(owned))
        name = self._created[d.uid] = body["metadata"]["name"]
        text = f"Scaled up replica set {name} from 0 to {size}"
        return CreateObject(
            ref=REPLICA_SETS,
            namespace=d.namespace,
            body=body,
            on_behalf_of=d.uid,
            event=CONTROLLER.event(d, "Normal", "ScalingReplicaSet", text) if size else None,
        )

    def _drop(self, d: DeploymentView, rs: ReplicaSetView) -> DeleteObject:
        self._dropped.add(rs.uid)
        return DeleteObject(ref=REPLICA_SETS, namespace=rs.namespace, name=rs.name, uid=rs.uid, on_behalf_of=d.uid)

    def _count_collision(self, d: DeploymentView) -> list[ApiAction]:
        """Another ReplicaSet has the name: the next hash takes the count in."""
        self._collided.discard(d.uid)
        count = (d.status.collision_count or 0) + 1
        return self._report(d, msgspec.structs.replace(d.status, collision_count=count), "")

    def _selecting_all(self, d: DeploymentView) -> list[ApiAction]:
        text = "This deployment is selecting all pods. A non-empty selector is required."
        if d.status.observed_generation >= d.generation:
            return []
        observed = msgspec.structs.replace(d.status, observed_generation=d.generation)
        return [CONTROLLER.event(d, "Warning", "SelectingAll", text), *self._report(d, observed, "")]

    def _report(self, d: DeploymentView, wanted: DeploymentStatus, revision: str) -> list[ApiAction]:
        patch: dict[str, Any] = {}
        if revision and d.annotations.get(revisions.REVISION) != revision:
            patch["metadata"] = {"annotations": {revisions.REVISION: revision}}
        if wanted != d.status:
            patch["status"] = status.value(wanted)
        return [self._owners.report(d, patch)] if patch else []

    def _changed(self, d: DeploymentView) -> None:
        created = f'"{self._created.get(d.uid, "")}"'
        if any(created in conditions.text(condition, "message") for condition in d.status.conditions):
            self._created.pop(d.uid, None)

    def _gone(self, uid: str) -> None:
        self._created.pop(uid, None)
        self._refusals.pop(uid, None)
        self._collided.discard(uid)

    def _refused(self, d: DeploymentView, failed: Failed) -> None:
        action = failed.action
        if isinstance(action, DeleteObject):
            self._dropped.discard(action.uid)
        elif isinstance(action, CreateObject) and failed.reason == "AlreadyExists":
            self._collided.add(d.uid)
        elif isinstance(action, CreateObject) and not refusals.is_ending_namespace(failed):
            name = action.body["metadata"]["name"]
            text = self._refusals[d.uid] = f'Failed to create new replica set "{name}": {failed.message}'
            self._owners.untold.append(CONTROLLER.event(d, "Warning", "ReplicaSetCreateError", text))


def _resize(
    d: DeploymentView, rs: ReplicaSetView, size: int | None, annotations: dict[str, str], *, is_new: bool
) -> list[ApiAction]:
    """One patch for all that changes on a ReplicaSet."""
    spec: dict[str, int] = {}
    if is_new and rs.min_ready_seconds != d.min_ready_seconds:
        spec["minReadySeconds"] = d.min_ready_seconds
    event = None
    if size is not None:
        noted = revisions.size_annotations(d)
        annotations = annotations | {key: text for key, text in noted.items() if rs.annotations.get(key) != text}
        if size != rs.replicas:
            spec["replicas"] = size
            way = "up" if size > rs.replicas else "down"
            text = f"Scaled {way} replica set {rs.name} from {rs.replicas} to {size}"
            event = CONTROLLER.event(d, "Normal", "ScalingReplicaSet", text)
    patch: dict[str, Any] = {"metadata": {"annotations": annotations}} if annotations else {}
    if spec:
        patch["spec"] = spec
    if not patch:
        return []
    return [
        PatchObject(
            ref=REPLICA_SETS,
            namespace=rs.namespace,
            name=rs.name,
            patch=patch,
            on_behalf_of=d.uid,
            event=event,
        )
    ]
