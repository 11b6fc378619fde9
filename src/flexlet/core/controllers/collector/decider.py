"""Decides for each object that names owners, and for each that waits for its dependents.

References and finalizers are removed with JSON patches that test what they remove: they work for every kind and
change nothing if someone else was faster. Deletions are bound to the version whose owners were judged.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from flexlet.api.meta import OwnerReference
from flexlet.core.actions import ApiAction, ApiPlan, DeleteObject, LookUp, PatchObject, RecordEvent, Ref
from flexlet.core.controllers.collector.graph import FOREGROUND, ORPHAN, Coordinates, Graph, Item
from flexlet.core.controllers.collector.kinds import Kinds, Served
from flexlet.core.controllers.queue import WorkQueue
from flexlet.core.observations import Absent, Failed, Observation, Seen, Vanished
from flexlet.core.refs import CUSTOM_RESOURCE_DEFINITIONS
from flexlet.core.views import objects
from flexlet.core.views.objects import ObjectView

BURST: Final = 500


class CollectorDecider:
    """Owns the graph of everything the server serves."""

    name = "garbagecollector"

    def __init__(self, served: Iterable[Served]) -> None:
        self._kinds = Kinds(served)
        self._graph = Graph()
        self._queue = WorkQueue()
        self._asked: dict[tuple[Ref, str, str], set[str]] = {}
        self._follow: list[Ref] = []

    def fold(self, observation: Observation) -> None:
        """Learn one thing."""
        match observation:
            case Seen(ref=ref, raw=raw, view=view, revision=revision):
                self._seen(ref, view or objects.view(raw)[0], revision)
                defined = self._kinds.define(raw) if ref == CUSTOM_RESOURCE_DEFINITIONS else None
                if defined is not None:
                    self._follow.append(defined)
            case Vanished(ref=ref, namespace=namespace, name=name, uid=uid):
                self._graph.declare_absent((ref, namespace, name, uid))
                self._gone(uid)
            case Absent(ref=ref, namespace=namespace, name=name):
                self._not_found(ref, namespace, name)
            case Failed(action=action) if not isinstance(action, RecordEvent):
                if isinstance(action, LookUp):
                    self._asked.pop((action.ref, action.namespace, action.name), None)
                self._queue.refused(action.on_behalf_of)

    def decide(self, now: float) -> ApiPlan:
        """What the objects that changed, or whose owners did, need."""
        actions: list[ApiAction] = []
        for uid in self._queue.take(now):
            item = self._graph.get(uid)
            if item is None or self._queue.held(uid):
                continue
            if len(actions) >= BURST:
                self._queue.add(uid)
                continue
            found = self._queue.attempt(uid, partial(self._look, item))
            actions += found
            if not found:
                self._queue.forgive(uid)
        follow, self._follow = tuple(self._follow), []
        return ApiPlan(
            tuple(actions), wake_at=self._queue.wake_at, follow=follow, faults=self._queue.take_faults()
        )

    def _look(self, item: Item) -> list[ApiAction]:
        if item.is_orphaning:
            return self._orphan_dependents(item)
        if item.is_waiting:
            return self._wait_for_dependents(item)
        if item.view.deleting or not item.view.owners:
            return []
        return self._judge(item)

    def _judge(self, item: Item) -> list[ApiAction]:
        """Delete what has no owner left; else drop references to owners that are gone or wait for it."""
        places = [self._place(item.view, owner) for owner in item.view.owners]
        asks = self._questions(item, places)
        if asks:
            return asks
        solid, waiting, dangling = 0, [], []
        for owner, place in zip(item.view.owners, places, strict=True):
            if place is not None and self._graph.is_absent(place):
                dangling.append(owner.uid)
            elif self._is_waiting(owner.uid):
                waiting.append(owner.uid)
            else:
                solid += 1
        if solid:
            return [_without_owners(item, {*dangling, *waiting})] if dangling or waiting else []
        if waiting and self._graph.dependent_uids(item.view.uid):
            return self._unblock(item) or [_delete(item, "Foreground")]
        return [_delete(item, _propagation(item.view))]

    def _place(self, view: ObjectView, owner: OwnerReference) -> Coordinates | None:
        """Where an owner must be; None if that cannot be told, and the owner counts as there."""
        served = self._kinds.of(owner)
        if served is None or (served.namespaced and not view.namespace):
            return None
        return served.ref, view.namespace if served.namespaced else "", owner.name, owner.uid

    def _questions(self, item: Item, places: Sequence[Coordinates | None]) -> list[ApiAction]:
        """Look-ups of owners that were neither seen nor found missing; until answered they count as there."""
        asks: list[ApiAction] = []
        for place in places:
            if place is None or self._graph.is_absent(place) or self._is_there(place):
                continue
            ref, namespace, name, uid = place
            asked = self._asked.setdefault((ref, namespace, name), set())
            if uid not in asked:
                asked.add(uid)
                asks.append(LookUp(ref=ref, namespace=namespace, name=name, on_behalf_of=item.view.uid))
        return asks

    def _is_there(self, place: Coordinates) -> bool:
        ref, namespace, name, uid = place
        item = self._graph.get(uid)
        return item is not None and (item.ref, item.view.namespace, item.view.name) == (ref, namespace, name)

    def _is_waiting(self, uid: str) -> bool:
        item = self._graph.get(uid)
        return item is not None and item.is_waiting

    def _unblock(self, item: Item) -> list[ApiAction]:
        """Break a circle: if a dependent waits as well, neither would ever be done."""
        if not any(dependent.is_waiting for dependent in self._graph.dependents(item.view.uid)):
            return []
        blocking = [place for place, owner in enumerate(item.view.owners) if owner.block_owner_deletion]
        changes = [
            {"op": "replace", "path": f"/metadata/ownerReferences/{place}/blockOwnerDeletion", "value": False}
            for place in blocking
        ]
        return [_json_patch(item, changes)] if changes else []

    def _wait_for_dependents(self, item: Item) -> list[ApiAction]:
        uid = item.view.uid
        dependents = self._graph.dependents(uid)
        blocking = [one for one in dependents if any(_blocks(owner, uid) for owner in one.view.owners)]
        return [] if blocking else [_without_finalizer(item, FOREGROUND)]

    def _orphan_dependents(self, item: Item) -> list[ApiAction]:
        dependents = self._graph.dependents(item.view.uid)
        if not dependents:
            return [_without_finalizer(item, ORPHAN)]
        return [_without_owners(dependent, {item.view.uid}, item.view.uid) for dependent in dependents]

    def _seen(self, ref: Ref, view: ObjectView, revision: int) -> None:
        before = self._graph.put(Item(ref, view, revision))
        for uid in self._asked.pop((ref, view.namespace, view.name), ()):
            if uid != view.uid:
                self._graph.declare_absent((ref, view.namespace, view.name, uid))
            self._look_at(self._graph.dependent_uids(uid))
        if before is None or _differs(before.view, view):
            self._queue.add(view.uid)
            self._look_at(self._graph.dependent_uids(view.uid))
            self._look_at_waiting(before.view.owners if before else ())

    def _gone(self, uid: str) -> None:
        item = self._graph.remove(uid)
        self._queue.drop(uid)
        self._look_at(self._graph.dependent_uids(uid))
        self._look_at_waiting(item.view.owners if item else ())

    def _not_found(self, ref: Ref, namespace: str, name: str) -> None:
        for uid in self._asked.pop((ref, namespace, name), ()):
            self._graph.declare_absent((ref, namespace, name, uid))
            self._look_at(self._graph.dependent_uids(uid))

    def _look_at(self, uids: Iterable[str]) -> None:
        for uid in uids:
            self._queue.add(uid)

    def _look_at_waiting(self, owners: Iterable[OwnerReference]) -> None:
        """Owners that may have waited for just this."""
        for owner in owners:
            item = self._graph.get(owner.uid)
            if item is not None and item.view.deleting:
                self._queue.add(owner.uid)


def _differs(before: ObjectView, after: ObjectView) -> bool:
    """Whether owners, finalizers or the deletion changed."""
    return (
        before.owners is not after.owners
        or before.finalizers != after.finalizers
        or before.deleted_at != after.deleted_at
    )


def _blocks(owner: OwnerReference, uid: str) -> bool:
    return owner.uid == uid and bool(owner.block_owner_deletion)


def _propagation(view: ObjectView) -> str:
    if ORPHAN in view.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in view.finalizers else "Background"


def _delete(item: Item, propagation: str) -> DeleteObject:
    return DeleteObject(
        ref=item.ref,
        namespace=item.view.namespace,
        name=item.view.name,
        uid=item.view.uid,
        resource_version=str(item.revision) if item.revision else "",
        propagation=propagation,
        on_behalf_of=item.view.uid,
    )


def _without_owners(item: Item, uids: set[str], on_behalf_of: str = "") -> PatchObject:
    owners = [owner.uid for owner in item.view.owners]
    return _json_patch(item, _removals("ownerReferences", owners, uids, "/uid"), on_behalf_of)


def _without_finalizer(item: Item, finalizer: str) -> PatchObject:
    return _json_patch(item, _removals("finalizers", list(item.view.finalizers), {finalizer}, ""))


def _removals(field: str, present: list[str], doomed: set[str], key: str) -> list[dict[str, Any]]:
    """Remove entries, last first so that places stay right; an empty list is not left behind."""
    changes: list[dict[str, Any]] = []
    for place, value in reversed(list(enumerate(present))):
        if value in doomed:
            changes.append({"op": "test", "path": f"/metadata/{field}/{place}{key}", "value": value})
            changes.append({"op": "remove", "path": f"/metadata/{field}/{place}"})
    if all(value in doomed for value in present):
        changes.append({"op": "remove", "path": f"/metadata/{field}"})
    return changes


def _json_patch(item: Item, changes: list[dict[str, Any]], on_behalf_of: str = "") -> PatchObject:
    test = {"op": "test", "path": "/metadata/uid", "value": item.view.uid}
    return PatchObject(
        ref=item.ref,
        namespace=item.view.namespace,
        name=item.view.name,
        patch=[test, *changes],
        kind="json",
        on_behalf_of=on_behalf_of or item.view.uid,
    )
