"""A pod from a manifest: named after its node, known by a hash of what the file says.

Whoever changes the file gets another pod, because the hash is the uid (`uids`). What the API server would fill in
and refuse is done here too, by rules that are handed in: there may be no API server. A manifest that cannot be
used is a Refused with the reason; the others go on.
"""

import copy
from typing import Any, Final, Protocol

import msgspec

from flexlet.api import age, decode
from flexlet.api.nodepod import NodePod
from flexlet.core.critical import SEEN_ANNOTATION, SOURCE_ANNOTATION
from flexlet.core.staticpods import uids
from flexlet.core.staticpods.references import reference
from flexlet.errors import InputError

Object = dict[str, Any]
HASH_ANNOTATION: Final = "kubernetes.io/config.hash"
FILE_SOURCE: Final = "file"
_TOLERATION: Final = {"operator": "Exists", "effect": "NoExecute"}


class PodRules(Protocol):
    """What an API server does with a pod that it is sent."""

    def read(self, value: Object) -> Object:
        """The pod with every field of its type; InputError if that is impossible."""
        ...

    def complete(self, pod: Object) -> list[str]:
        """Fill in defaults, in place, and say what is wrong."""
        ...


class Manifest(msgspec.Struct, frozen=True):
    """What a file said: a JSON-like value, or why it has none."""

    path: str
    value: Any = None
    problem: str = ""


class StaticPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod of a file: as the node runs it, and the whole object."""

    path: str
    pod: NodePod
    body: Object

    @property
    def uid(self) -> str:
        """The hash of what the file says; its containers carry it."""
        return self.pod.metadata.uid

    @property
    def full_name(self) -> tuple[str, str]:
        """Namespace and name, shared with its mirror."""
        return self.pod.metadata.namespace, self.pod.metadata.name


class Refused(msgspec.Struct, frozen=True):
    """A manifest that cannot be run, and why."""

    path: str
    message: str


def static_pod(manifest: Manifest, node: str, seen_at: float, rules: PodRules) -> StaticPod | Refused:
    """The pod of a manifest on a node."""
    message = manifest.problem or _shape(manifest.value)
    if message:
        return Refused(manifest.path, message)
    try:
        return _made(manifest, node, seen_at, rules)
    except InputError as error:
        return Refused(manifest.path, f"couldn't parse as pod: {error}")


def _made(manifest: Manifest, node: str, seen_at: float, rules: PodRules) -> StaticPod | Refused:
    read = rules.read(copy.deepcopy(manifest.value))
    uid = read["metadata"].get("uid") or _uid(read, manifest, node, rules)
    body = _placed(read, uid, node, seen_at)
    complaints = rules.complete(body)
    if complaints:
        return Refused(manifest.path, f"invalid pod: [{', '.join(complaints)}]")
    found = reference(body["spec"])
    if found:
        return Refused(manifest.path, f"static pods may not reference {found}")
    return StaticPod(path=manifest.path, pod=decode.from_value(body, NodePod), body=body)


def _shape(value: Any) -> str:
    if not isinstance(value, dict) or value.get("apiVersion") != "v1" or value.get("kind") != "Pod":
        return "couldn't parse as pod: expected one object with apiVersion v1 and kind Pod"
    metadata = value.get("metadata")
    named = isinstance(metadata, dict) and metadata.get("name")
    return "" if named else "invalid pod: name is needed for the pod"


def _uid(read: Object, manifest: Manifest, node: str, rules: PodRules) -> str:
    """The defaults are part of what is hashed, the marks and the place on the node are not."""
    full = copy.deepcopy(read)
    rules.complete(full)
    return uids.uid(full, manifest.value, node, manifest.path)


def _placed(body: Object, uid: str, node: str, seen_at: float) -> Object:
    """The object on its node, with the marks of where it comes from."""
    metadata, spec = body["metadata"], body.setdefault("spec", {})
    metadata |= {
        "uid": uid,
        "name": f"{metadata['name']}-{node.lower()}",
        "namespace": metadata.get("namespace") or "default",
        "annotations": {
            **(metadata.get("annotations") or {}),
            HASH_ANNOTATION: uid,
            SEEN_ANNOTATION: f"{age.format_micro(seen_at)[:-1]}000Z",
            SOURCE_ANNOTATION: FILE_SOURCE,
        },
    }
    spec["nodeName"] = node
    tolerations = spec.get("tolerations") or []
    if _TOLERATION not in tolerations:
        spec["tolerations"] = [*tolerations, dict(_TOLERATION)]
    body["status"] = {"phase": "Pending"}
    return body
