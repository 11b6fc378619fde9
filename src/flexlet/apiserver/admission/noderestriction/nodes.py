"""Nodes change their own Node, except for what would attract pods to them."""

from typing import Final

from flexlet.apiserver.admission.refusal import CREATE, UPDATE, forbidden, name_of
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest

KUBELET_LABELS: Final = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    }
)
KUBELET_DOMAINS: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")
KUBERNETES_DOMAINS: Final = ("kubernetes.io", "k8s.io")
RESTRICTED_DOMAIN: Final = "node-restriction.kubernetes.io"


def check(request: AdmissionRequest, node: str) -> None:
    """Refuse changes of other nodes, and those changes of itself that a node may not make."""
    name = name_of(request)
    if name != node:
        raise forbidden(request, f'node "{node}" is not allowed to modify node "{name}"')
    if request.operation == CREATE:
        _check_new(request, node, request.obj or {})
    elif request.operation == UPDATE:
        _check_change(request, node, request.obj or {}, request.old or {})


def forbidden_labels(labels: dict[str, str], old: dict[str, str]) -> list[str]:
    """Labels that were added, changed or removed and are not for nodes to decide."""
    changed = {key for key in labels.keys() | old.keys() if labels.get(key) != old.get(key)}
    return sorted(key for key in changed if not is_allowed_label(key))


def is_allowed_label(key: str) -> bool:
    """Whether a node may set the label: any of its own, of Kubernetes' only those made for nodes."""
    domain = key.split("/", 1)[0] if "/" in key else ""
    if _is_within(domain, RESTRICTED_DOMAIN):
        return False
    if not any(_is_within(domain, parent) for parent in KUBERNETES_DOMAINS):
        return True
    return key in KUBELET_LABELS or any(_is_within(domain, parent) for parent in KUBELET_DOMAINS)


def _check_new(request: AdmissionRequest, node: str, obj: Object) -> None:
    if (obj.get("spec") or {}).get("configSource") is not None:
        raise forbidden(request, f'node "{node}" is not allowed to create pods with a non-nil configSource')
    if wrong := forbidden_labels(_labels(obj), {}):
        raise forbidden(request, f'node "{node}" is not allowed to set the following labels: {", ".join(wrong)}')


def _check_change(request: AdmissionRequest, node: str, obj: Object, old: Object) -> None:
    spec, old_spec = obj.get("spec") or {}, old.get("spec") or {}
    source = spec.get("configSource")
    if source is not None and source != old_spec.get("configSource"):
        raise forbidden(
            request, f'node "{node}" is not allowed to update configSource to a new non-nil configSource'
        )
    if (spec.get("taints") or []) != (old_spec.get("taints") or []):
        raise forbidden(request, f'node "{node}" is not allowed to modify taints')
    if _owners(obj) != _owners(old):
        raise forbidden(request, f'node "{node}" is not allowed to modify ownerReferences')
    if wrong := forbidden_labels(_labels(obj), _labels(old)):
        raise forbidden(request, f"is not allowed to modify labels: {', '.join(wrong)}")


def _is_within(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")


def _labels(obj: Object) -> dict[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


def _owners(obj: Object) -> list[Object]:
    return (obj.get("metadata") or {}).get("ownerReferences") or []
