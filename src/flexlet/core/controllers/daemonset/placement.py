"""Where daemon pods belong, and what they look like.

Daemon pods stay on nodes in trouble: they tolerate the taints of unready nodes and of pressure. The scheduler
binds them, but each may only go to the one node that its affinity names.
"""

from functools import lru_cache
from typing import Any, Final

import msgspec

from flexlet.api.meta import KubeStruct, ObjectMeta
from flexlet.api.node import Node
from flexlet.api.pod import PodSpec, Toleration
from flexlet.core.controllers import templates
from flexlet.core.controllers.controller import Controller
from flexlet.core.scheduling import filters, nodeaffinity
from flexlet.core.views.daemonset import DaemonSetView
from flexlet.core.views.node import NodeView

CONTROLLER: Final = Controller("apps/v1", "DaemonSet")
HASH_LABEL: Final = "controller-revision-hash"
GENERATION_LABEL: Final = "pod-template-generation"
_TOLERATED: Final = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_ON_HOST_NETWORK: Final = ("network-unavailable", "NoSchedule")


class _Spec(KubeStruct, frozen=True, kw_only=True):
    node_name: str = ""
    node_selector: dict[str, str] | None = None
    affinity: dict[str, Any] | None = None
    tolerations: tuple[Toleration, ...] | None = ()
    host_network: bool = False


class _Template(KubeStruct, frozen=True, kw_only=True):
    spec: _Spec = _Spec()


_decoder: Final = msgspec.json.Decoder(_Template)


def eligibility(template: bytes, node: NodeView) -> tuple[bool, bool]:
    """Whether a pod should be started on the node, and whether one that runs there may stay."""
    spec = _requirements(template)
    if spec.node_name not in {"", node.name}:
        return False, False
    if not nodeaffinity.matches(spec, Node(metadata=ObjectMeta(name=node.name, labels=node.labels))):
        return False, False
    if filters.untolerated(node.taints, spec.tolerations) is None:
        return True, True
    driving_out = (taint for taint in node.taints if taint.effect == "NoExecute")
    return False, filters.untolerated(driving_out, spec.tolerations) is None


@lru_cache(maxsize=256)
def _requirements(template: bytes) -> PodSpec:
    """What the template says of nodes, and the tolerations that daemon pods have on top."""
    spec = _decoder.decode(template).spec
    added = tuple(
        Toleration(key=toleration["key"], operator="Exists", effect=toleration["effect"])
        for toleration in _added_tolerations(host_network=spec.host_network)
    )
    return PodSpec(
        node_name=spec.node_name,
        node_selector=spec.node_selector or {},
        affinity=spec.affinity,
        tolerations=(spec.tolerations or ()) + added,
    )


def _added_tolerations(*, host_network: bool) -> list[dict[str, str]]:
    pairs = (*_TOLERATED, _ON_HOST_NETWORK) if host_network else _TOLERATED
    return [
        {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect} for name, effect in pairs
    ]


@lru_cache(maxsize=256)
def template_hash(template: bytes) -> str:
    """The text that marks the pods of a template."""
    return templates.hash_of(template, None)


def is_current(ds: DaemonSetView, labels: dict[str, str]) -> bool:
    """Whether a pod with these labels is of the current template."""
    if labels.get(HASH_LABEL) == template_hash(ds.template):
        return True
    return bool(ds.template_generation) and labels.get(GENERATION_LABEL) == ds.template_generation


def body(ds: DaemonSetView, node: str) -> dict[str, Any]:
    """The pod for a node."""
    pod = templates.pod_body(ds.template, CONTROLLER, ds)
    labels = pod["metadata"].setdefault("labels", {})
    if ds.template_generation:
        labels[GENERATION_LABEL] = ds.template_generation
    labels[HASH_LABEL] = template_hash(ds.template)
    spec = pod["spec"]
    spec["tolerations"] = _tolerations(spec)
    affinity = spec["affinity"] = spec.get("affinity") or {}
    node_affinity = affinity["nodeAffinity"] = affinity.get("nodeAffinity") or {}
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] = required
    return pod


def _tolerations(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The template's, and those of daemon pods; one for the same taint gives way, limits in time included."""
    wanted = list(spec.get("tolerations") or [])
    for new in _added_tolerations(host_network=bool(spec.get("hostNetwork"))):
        places = [place for place, own in enumerate(wanted) if _matched(own) == _matched(new)]
        for place in places:
            wanted[place] = new
        wanted += [] if places else [new]
    return wanted


def _matched(toleration: dict[str, Any]) -> tuple[str, ...]:
    return tuple(toleration.get(key) or "" for key in ("key", "effect", "operator", "value"))
