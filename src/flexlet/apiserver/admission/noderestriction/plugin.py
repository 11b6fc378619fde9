"""The plugin itself: which rules apply to a request from a node."""

from typing import Final

from flexlet.api.gotext import quote
from flexlet.apiserver.admission.authorizer import Authorizer
from flexlet.apiserver.admission.noderestriction import nodes, pods, tokens
from flexlet.apiserver.admission.noderestriction.identity import PREFIX, node_identity
from flexlet.apiserver.admission.refusal import CREATE, forbidden
from flexlet.apiserver.auth.requests import requested
from flexlet.apiserver.auth.subject import read_subject
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.request import AdmissionRequest
from flexlet.errors import InputError

LEASE_NAMESPACE: Final = "kube-node-lease"
KUBELET_SIGNERS: Final = frozenset(
    {"kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"}
)


class NodeRestriction(Plugin):
    """Looks at requests of users ``system:node:NAME`` in the group ``system:nodes``."""

    name = "NodeRestriction"

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def mutate(self, request: AdmissionRequest, view: View) -> None:
        """Refuse what is not the node's own; changes nothing."""
        node = node_identity(request.user)
        if node is None:
            return
        if not node:
            raise forbidden(request, f"could not determine node from user {quote(request.user.name)}")
        match (request.kind.group, request.kind.plural):
            case ("", "pods"):
                pods.check(request, view, node)
            case ("", "nodes"):
                nodes.check(request, node)
            case ("", "serviceaccounts"):
                tokens.check(request, view, node, self._authorizer)
            case ("coordination.k8s.io", "leases"):
                _check_lease(request, node)
            case ("certificates.k8s.io", "certificatesigningrequests"):
                _check_signing_request(request, node)
            case _:
                pass


def _check_lease(request: AdmissionRequest, node: str) -> None:
    if request.namespace != LEASE_NAMESPACE:
        raise forbidden(request, f'can only access leases in the "{LEASE_NAMESPACE}" system namespace')
    name = request.name
    if request.operation == CREATE:
        name = ((request.obj or {}).get("metadata") or {}).get("name", "")
    if name != node:
        raise forbidden(request, "can only access node lease with the same name as the requesting node")


def _check_signing_request(request: AdmissionRequest, node: str) -> None:
    obj = request.obj or {}
    if request.operation != CREATE or (obj.get("spec") or {}).get("signerName") not in KUBELET_SIGNERS:
        return
    try:
        subject = read_subject(requested(obj))
    except InputError as error:
        raise forbidden(request, f"unable to parse csr: {error.message}") from error
    if subject.name != PREFIX + node:
        raise forbidden(request, f"can only create a node CSR with CN={PREFIX}{node}")
