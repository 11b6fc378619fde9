"""Objects as servers show them, in a line each, and deciders fed with them."""

from collections.abc import Iterable
from typing import Any

import msgspec

from flexlet.api import age
from flexlet.api.patch import merge
from flexlet.core.actions import ApiAction, ApiPlan, CreateObject, DeleteObject, PatchObject, RecordEvent, Ref
from flexlet.core.observations import Observation, Seen, Vanished
from flexlet.engine.loop import Decider

NOW = 1_800_000_000.0

Object = dict[str, Any]


def stamp(offset: float = 0.0) -> str:
    """A time relative to the test's now."""
    return age.format_seconds(NOW + offset)


def meta(name: str, **parts: Any) -> Object:
    """Metadata of an object in the default namespace; ``owner`` is (kind, name)."""
    owner = parts.pop("owner", None)
    found = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": stamp(-3600),
        **parts,
    }
    if owner is not None:
        found["ownerReferences"] = [reference(*owner)]
    return found


GROUPS = {"ReplicaSet": "apps/v1", "Deployment": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1"}


def reference(kind: str, name: str, **parts: Any) -> Object:
    """An ownerReference to a controller."""
    return {
        "apiVersion": GROUPS.get(kind, "v1"),
        "kind": kind,
        "name": name,
        "uid": f"uid-{name}",
        "controller": True,
        "blockOwnerDeletion": True,
        **parts,
    }


def pod(name: str, *, phase: str = "Running", ready: bool = True, node: str = "n1", **parts: Any) -> Object:
    """A pod; ``spec`` and ``status`` add to what the short forms say, everything else is metadata."""
    spec = {"nodeName": node, **parts.pop("spec", {})} if node else parts.pop("spec", {})
    conditions = [{"type": "Ready", "status": str(ready), "lastTransitionTime": stamp(-600)}]
    status = {"phase": phase, "conditions": conditions, **parts.pop("status", {})}
    parts.setdefault("labels", {"app": "web"})
    return {"kind": "Pod", "apiVersion": "v1", "metadata": meta(name, **parts), "spec": spec, "status": status}


TEMPLATE: Object = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "x:1"}]},
}


def seen(ref: Ref, *bodies: Object) -> list[Observation]:
    """What a feed says of these objects."""
    return [Seen(ref, msgspec.json.encode(body)) for body in bodies]


def gone(ref: Ref, *bodies: Object) -> list[Observation]:
    """What a feed says when they are deleted."""
    return [
        Vanished(ref, b["metadata"].get("namespace", ""), b["metadata"]["name"], b["metadata"]["uid"])
        for b in bodies
    ]


def tell(decider: Decider, *groups: Iterable[Observation]) -> None:
    """Fold everything in order."""
    for group in groups:
        for observation in group:
            decider.fold(observation)


def decide(decider: Decider, now: float = NOW) -> tuple[ApiAction, ...]:
    """The actions of the next plan."""
    plan: ApiPlan = decider.decide(now)
    return plan.actions


def changed(body: Object, action: ApiAction) -> Object:
    """An object after a merge patch: what the server would answer."""
    assert isinstance(action, PatchObject)
    assert action.kind == "merge"
    return merge.apply(body, action.patch)


def short(actions: Iterable[ApiAction]) -> list[tuple[Any, ...]]:
    """Actions without bodies and events, for stories in which only the deeds matter."""
    found: list[tuple[Any, ...]] = []
    for action in actions:
        match action:
            case CreateObject(body=body):
                meta = body["metadata"]
                found.append(("create", action.ref[2], meta.get("name") or meta["generateName"]))
            case PatchObject():
                found.append(("patch", action.ref[2], action.name, action.subresource))
            case DeleteObject():
                found.append(("delete", action.ref[2], action.name))
            case RecordEvent():
                found.append(("event", action.reason, action.message))
            case _:
                found.append(("look up", action.ref[2], action.name))
    return found
