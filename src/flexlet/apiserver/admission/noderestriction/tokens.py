"""Nodes ask for tokens of the accounts of their pods, bound to the pod and for audiences it mounts."""

from flexlet.api import status
from flexlet.api.gotext import quote
from flexlet.apiserver.admission.authorizer import Authorizer
from flexlet.apiserver.admission.pod_references import projections
from flexlet.apiserver.admission.refusal import CREATE, forbidden
from flexlet.apiserver.contract.admission import View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest, Attributes


def check(request: AdmissionRequest, view: View, node: str, authorizer: Authorizer) -> None:
    """Refuse tokens that would outlive the pod, or serve somebody else."""
    if request.operation != CREATE or request.subresource != "token":
        return
    spec = (request.obj or {}).get("spec") or {}
    pod = _bound_pod(request, view, spec.get("boundObjectRef") or {})
    if (pod.get("spec") or {}).get("nodeName") != node:
        raise forbidden(request, "node requested token bound to a pod scheduled on a different node")
    _check_audience(request, pod, spec.get("audiences") or [], authorizer)


def _bound_pod(request: AdmissionRequest, view: View, reference: Object) -> Object:
    name = reference.get("name", "")
    if (reference.get("apiVersion"), reference.get("kind")) != ("v1", "Pod") or not name:
        raise forbidden(request, "node requested token not bound to a pod")
    uid = reference.get("uid")
    if not uid:
        raise forbidden(request, "node requested token with a pod binding without a uid")
    pod = view.get("pods", request.namespace, name)
    if pod is None:
        raise status.not_found("pods", "", name)
    if pod["metadata"].get("uid") != uid:
        mismatch = f"the UID in the bound object reference ({uid}) does not match the UID in record"
        raise forbidden(request, f"{mismatch}. The object might have been deleted and then recreated")
    return pod


def _check_audience(request: AdmissionRequest, pod: Object, audiences: list[str], authorizer: Authorizer) -> None:
    """An audience is good if the pod projects a token for it, or if the node was given the right to it."""
    if len(audiences) > 1:
        raise forbidden(request, "node may only request 0 or 1 audiences")
    audience = audiences[0] if audiences else ""
    if audience in _projected_audiences(pod):
        return
    question = Attributes(
        user=request.user,
        verb="request-serviceaccounts-token-audience",
        version="v1",
        resource=audience,
        namespace=request.namespace,
        name=request.name,
    )
    if not authorizer.decide(question).allowed:
        unknown = f"audience {quote(audience)} not found in pod spec volume"
        refused = f"{request.user.name} is not authorized to request tokens for this audience"
        raise forbidden(request, f"{unknown}, {refused}")


def _projected_audiences(pod: Object) -> set[str]:
    return {
        token.get("audience", "")
        for volume in (pod.get("spec") or {}).get("volumes") or ()
        for source in projections(volume)
        if (token := source.get("serviceAccountToken")) is not None
    }
