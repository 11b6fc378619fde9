"""The Node object that a node registers itself with, and what it corrects on one that exists.

Taints, extra labels and the provider's id count at creation only; afterwards they belong to the operator. Default
labels and the annotation about attaching volumes are corrected once, at the start; those about operating system
and architecture with every report.
"""

from typing import Any, Final

import msgspec

from flexlet.api import decode
from flexlet.core.balloon.names import AGENT
from flexlet.core.node.facts import NodeFacts
from flexlet.core.node.settings import NodeSettings

Object = dict[str, Any]

HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
OS_LABEL: Final = "kubernetes.io/os"
ARCH_LABEL: Final = "kubernetes.io/arch"
ATTACH_ANNOTATION: Final = "volumes.kubernetes.io/controller-managed-attach-detach"
PROVIDED_IP_ANNOTATION: Final = "alpha.kubernetes.io/provided-node-ip"
INITIAL_CAPACITY_ANNOTATION: Final = "resize.node.kubernetes.io/initial-capacity"
"""What the node had when it registered: autoscalers judge other nodes like it by that."""
GENERATION_ANNOTATION: Final = "flexlet.io/generation"
UNPLUG_READY_ANNOTATION: Final = "flexlet.io/unplug-ready"
_UNINITIALIZED: Final = {
    "key": "node.cloudprovider.kubernetes.io/uninitialized",
    "value": "true",
    "effect": "NoSchedule",
}
_CORRECTED: Final = (
    HOSTNAME_LABEL,
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    OS_LABEL,
    ARCH_LABEL,
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
)
_FIRST_PAUSE_S: Final = 0.1
_LONGEST_PAUSE_S: Final = 7.0


class Attempt:
    """When to try to register again, and whether to look first: the Node may exist after all."""

    def __init__(self) -> None:
        self._failures = 0
        self._code = 0
        self.due = 0.0

    def failed(self, code: int) -> None:
        """The server refused."""
        self._failures += 1
        self._code = code

    def must_look(self, now: float) -> bool:
        """Whether to look for the Node, once after each refusal that does not say that there is none."""
        code, self._code = self._code, 0
        if code:
            self.due = now + min(_FIRST_PAUSE_S * 2**self._failures, _LONGEST_PAUSE_S)
        return code in (403, 409)


def node(settings: NodeSettings, facts: NodeFacts, status: Object) -> Object:
    """The body of a new Node."""
    taints = [decode.to_value(taint) for taint in settings.taints]
    taints += [_UNINITIALIZED] if settings.external_cloud else []
    spec: Object = {"taints": taints} if taints else {}
    if settings.provider_id:
        spec["providerID"] = settings.provider_id
    metadata: Object = {"name": settings.name, "labels": labels(settings, facts)}
    notes = {key: text for key, text in annotations(settings).items() if text is not None}
    notes |= {key: text for key, text in _sizes({}, facts, status).items() if text is not None}
    if notes:
        metadata["annotations"] = notes
    return {"kind": "Node", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": status}


def labels(settings: NodeSettings, facts: NodeFacts) -> dict[str, str]:
    """What can be selected by; the operator's labels win over the defaults."""
    architecture = facts.machine.identity.architecture
    return {
        "beta.kubernetes.io/arch": architecture,
        "beta.kubernetes.io/os": "linux",
        ARCH_LABEL: architecture,
        HOSTNAME_LABEL: settings.hostname or settings.name,
        OS_LABEL: "linux",
        **settings.labels,
    }


def annotations(settings: NodeSettings) -> dict[str, str | None]:
    """What the node says about itself besides; None for what must not be there."""
    provided = ",".join(settings.node_ips) if settings.external_cloud else ""
    return {
        ATTACH_ANNOTATION: "true" if settings.attach_by_controller else None,
        PROVIDED_IP_ANNOTATION: provided or None,
        **({AGENT: settings.agent} if settings.agent else {}),
    }


def corrections(
    metadata: Object, settings: NodeSettings, facts: NodeFacts, status: Object, *, first: bool
) -> Object:
    """What to patch in the metadata of an existing Node; more of it `first`, when the agent has just started."""
    wanted = labels(settings, facts)
    checked = _CORRECTED if first else (OS_LABEL, ARCH_LABEL)
    notes = annotations(settings)
    if not first:
        notes.pop(ATTACH_ANNOTATION)
    patch = {
        "labels": _differing(metadata.get("labels"), {key: wanted[key] for key in checked if key in wanted}),
        "annotations": _differing(metadata.get("annotations"), notes | _sizes(metadata, facts, status)),
    }
    return {key: entries for key, entries in patch.items() if entries}


def _sizes(metadata: Object, facts: NodeFacts, status: Object) -> dict[str, str | None]:
    """What a node that follows its machine says about its size; the first capacity is said once, and for ever."""
    resizing = facts.resizing
    if resizing is None:
        return {GENERATION_ANNOTATION: None, UNPLUG_READY_ANNOTATION: None}
    known = (metadata.get("annotations") or {}).get(INITIAL_CAPACITY_ANNOTATION)
    return {
        INITIAL_CAPACITY_ANNOTATION: known or msgspec.json.encode(status["capacity"], order="sorted").decode(),
        GENERATION_ANNOTATION: str(resizing.generation),
        UNPLUG_READY_ANNOTATION: str(resizing.unplug_ready) if resizing.unplug_ready else None,
    }


def _differing(found: dict[str, str] | None, wanted: Object) -> Object:
    return {key: text for key, text in wanted.items() if (found or {}).get(key) != text}
