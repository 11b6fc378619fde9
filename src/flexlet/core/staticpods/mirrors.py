"""A mirror pod in the API for each static pod: people see it there, its status is reported there.

A mirror belongs to its Node and carries the hash of the static pod. One that is being deleted, or has another
hash, is deleted at once and made again; one whose static pod is gone is deleted when nothing of the pod runs any
more, so that its end can still be watched. Unlike the kubelet, which looks once in a while, this happens when it
is noticed. Pods of the same name that are no mirrors are left alone.

Feeds: pods with ``spec.nodeName=NODE``.
"""

from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec

from flexlet.api.meta import ObjectMeta
from flexlet.core.actions import ApiAction, ApiPlan, CreateObject, DeleteObject
from flexlet.core.critical import MIRROR_ANNOTATION
from flexlet.core.observations import Failed, Observation, Seen, Vanished
from flexlet.core.refs import PODS
from flexlet.core.staticpods.pods import StaticPod

FullName = tuple[str, str]

_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 60.0


class Mirror(msgspec.Struct, frozen=True, kw_only=True):
    """A mirror pod as the API has it."""

    uid: str
    hash: str
    deleting: bool = False


class _Pod(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


_decoder: Final = msgspec.json.Decoder(_Pod)


def mirror(pod: StaticPod, node: str, node_uid: str) -> dict[str, Any]:
    """The body of a mirror pod: the static pod with a mark and an owner; uid and status are the server's."""
    given = {key: value for key, value in pod.body["metadata"].items() if key != "uid"}
    annotations = {**given.get("annotations", {}), MIRROR_ANNOTATION: pod.uid}
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": node_uid, "controller": True}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {**given, "annotations": annotations, "ownerReferences": [owner]},
        "spec": pod.body["spec"],
    }


class MirrorDecider:
    """Makes and removes the mirror pods of one node."""

    name = "mirror-pods"

    def __init__(self, node: str) -> None:
        self._node = node
        self._node_uid = ""
        self._pods: dict[FullName, StaticPod] = {}
        self._live: frozenset[str] = frozenset()
        self._mirrors: dict[FullName, Mirror] = {}
        self._under_way: set[FullName] = set()
        self._failures: dict[FullName, int] = {}
        self._not_before: dict[FullName, float] = {}

    def learn(self, pods: Iterable[StaticPod], live: Collection[str], node_uid: str) -> None:
        """The static pods there should be, uids of those of which something runs, and the Node's uid."""
        self._pods = {pod.full_name: pod for pod in pods}
        self._live = frozenset(live)
        self._node_uid = node_uid

    def mirror_of(self, pod: StaticPod) -> Mirror | None:
        """Where the status of a static pod is reported; None while there is no such place."""
        found = self._mirrors.get(pod.full_name)
        return found if found is not None and found.hash == pod.uid and not found.deleting else None

    def fold(self, observation: Observation) -> None:
        """Learn one thing from the API."""
        match observation:
            case Seen(ref=ref, raw=raw) if ref == PODS:
                self._seen(_decoder.decode(raw).metadata)
            case Vanished(ref=ref, namespace=namespace, name=name, uid=uid) if ref == PODS:
                self._gone((namespace, name), uid)
            case Failed(action=CreateObject(ref=ref, namespace=namespace, body=body)) if ref == PODS:
                self._failed((namespace, body["metadata"]["name"]))
            case Failed(action=DeleteObject(ref=ref, namespace=namespace, name=name)) if ref == PODS:
                self._failed((namespace, name))
            case _:
                pass

    def decide(self, now: float) -> ApiPlan:
        """Make what is missing and remove what is wrong, each with growing pauses while that fails."""
        actions: list[ApiAction] = []
        for name in sorted(self._pods.keys() | self._mirrors.keys()):
            if self._may_act(name, now):
                actions += self._deeds(name)
        pauses = [when for when in self._not_before.values() if when > now]
        return ApiPlan(tuple(actions), wake_at=min(pauses, default=None))

    def _deeds(self, name: FullName) -> list[ApiAction]:
        pod, found = self._pods.get(name), self._mirrors.get(name)
        if found is None:
            return self._creation(name, pod)
        if pod is not None and found.hash == pod.uid and not found.deleting:
            return []
        if found.hash in self._live and (pod is None or found.hash != pod.uid):
            return []
        self._under_way.add(name)
        return [DeleteObject(ref=PODS, namespace=name[0], name=name[1], uid=found.uid, grace_seconds=0)]

    def _creation(self, name: FullName, pod: StaticPod | None) -> list[ApiAction]:
        if pod is None or not self._node_uid:
            return []
        self._under_way.add(name)
        return [CreateObject(ref=PODS, namespace=name[0], body=mirror(pod, self._node, self._node_uid))]

    def _may_act(self, name: FullName, now: float) -> bool:
        if self._failures.get(name, 0) and name not in self._not_before:
            pause = _FIRST_PAUSE_S * 2 ** min(self._failures[name] - 1, 10)
            self._not_before[name] = now + min(pause, _LONGEST_PAUSE_S)
        if now < self._not_before.get(name, 0.0):
            return False
        self._not_before.pop(name, None)
        return name not in self._under_way

    def _seen(self, meta: ObjectMeta) -> None:
        marked = meta.annotations.get(MIRROR_ANNOTATION)
        name = (meta.namespace, meta.name)
        if marked is None:
            return
        self._done(name)
        deleting = meta.deletion_timestamp is not None
        self._mirrors[name] = Mirror(uid=meta.uid, hash=marked, deleting=deleting)

    def _gone(self, name: FullName, uid: str) -> None:
        found = self._mirrors.get(name)
        if found is not None and found.uid == uid:
            del self._mirrors[name]
        self._done(name)

    def _failed(self, name: FullName) -> None:
        self._under_way.discard(name)
        self._not_before.pop(name, None)
        self._failures[name] = self._failures.get(name, 0) + 1

    def _done(self, name: FullName) -> None:
        self._under_way.discard(name)
        self._failures.pop(name, None)
        self._not_before.pop(name, None)
