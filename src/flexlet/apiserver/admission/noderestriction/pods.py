"""Nodes show their static pods as mirror pods, and end or report on pods that are bound to them."""

from typing import Final

from flexlet.api import status
from flexlet.apiserver.admission.pod_references import api_reference
from flexlet.apiserver.admission.refusal import forbidden
from flexlet.apiserver.contract.admission import View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest

MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"


def check(request: AdmissionRequest, view: View, node: str) -> None:
    """Refuse whatever is not the node's business."""
    match (request.subresource, request.operation):
        case ("", "CREATE"):
            _check_mirror(request, view, node, request.obj or {})
        case ("", "DELETE"):
            _check_bound(request, view, node, f'node "{node}" can only delete pods')
        case ("", operation):
            what = f'unexpected operation "{operation}"'
            raise forbidden(request, f'{what}, node "{node}" can only create and delete mirror pods')
        case ("status", "UPDATE"):
            _check_status(request, node, request.obj or {}, request.old or {})
        case ("eviction", "CREATE"):
            _check_bound(request, view, node, f"node {node} can only evict pods")
        case ("status" | "eviction", operation):
            raise forbidden(request, f'unexpected operation "{operation}"')
        case (subresource, _):
            what = f'unexpected pod subresource "{subresource}"'
            raise forbidden(request, f"{what}, only 'status' and 'eviction' are allowed")


def _check_bound(request: AdmissionRequest, view: View, node: str, allowed: str) -> None:
    name = request.name or ((request.obj or {}).get("metadata") or {}).get("name", "")
    pod = view.get("pods", request.namespace, name)
    if pod is None:
        raise status.not_found("pods", "", name)
    if _node_name(pod) != node:
        raise forbidden(request, f"{allowed} with spec.nodeName set to itself")


def _check_status(request: AdmissionRequest, node: str, pod: Object, old: Object) -> None:
    if _node_name(old) != node:
        allowed = f'node "{node}" can only update pod status for pods'
        raise forbidden(request, f"{allowed} with spec.nodeName set to itself")
    if _labels(pod) != _labels(old):
        raise forbidden(request, f'node "{node}" cannot update labels through pod status')
    for key, title in (
        ("resourceClaimStatuses", "resource claim statues"),
        ("extendedResourceClaimStatus", "extended resource claim status"),
    ):
        if _status(pod).get(key) != _status(old).get(key):
            raise forbidden(request, f'node "{node}" cannot update {title}')


def _check_mirror(request: AdmissionRequest, view: View, node: str, pod: Object) -> None:
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    if MIRROR_ANNOTATION not in (metadata.get("annotations") or {}):
        missing = f'pod does not have "{MIRROR_ANNOTATION}" annotation'
        raise forbidden(request, f'{missing}, node "{node}" can only create mirror pods')
    if spec.get("nodeName") != node:
        raise forbidden(request, f'node "{node}" can only create pods with spec.nodeName set to itself')
    _check_owner(request, view, node, metadata.get("ownerReferences") or [])
    if reference := api_reference(spec):
        raise forbidden(request, f'node "{node}" can not create pods that reference {reference}')


def _check_owner(request: AdmissionRequest, view: View, node: str, owners: list[Object]) -> None:
    """Exactly one owner: the Node object of this very node, as it exists now."""
    if len(owners) > 1:
        raise forbidden(request, f'node "{node}" can only create pods with a single owner reference set to itself')
    owner = owners[0] if owners else {}
    if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
        raise forbidden(request, f'node "{node}" can only create pods with an owner reference set to itself')
    if not owner.get("controller"):
        raise forbidden(
            request, f'node "{node}" can only create pods with a controller owner reference set to itself'
        )
    if owner.get("blockOwnerDeletion"):
        raise forbidden(request, f'node "{node}" must not set blockOwnerDeletion on an owner reference')
    stored = view.get("nodes", "", node)
    if stored is None:
        raise status.not_found("nodes", "", node)
    uid = stored["metadata"].get("uid", "")
    if owner.get("uid", "") != uid:
        raise forbidden(request, f"node {node} UID mismatch: expected {owner.get('uid', '')} got {uid}")


def _node_name(pod: Object) -> str:
    return str((pod.get("spec") or {}).get("nodeName", ""))


def _labels(pod: Object) -> dict[str, str]:
    return (pod.get("metadata") or {}).get("labels") or {}


def _status(pod: Object) -> Object:
    result: Object = pod.get("status") or {}
    return result
