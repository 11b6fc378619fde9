"""How nodes get in: a kubeconfig made for one of them, or a token with which any may ask for a certificate.

Nothing of it is there by default, as with upstream's server: whoever starts a cluster with nodes calls `allow`
(or mints a bootstrap kubeconfig, which does). The bindings are those that kubeadm makes, for the plain bootstrap
group. Addresses are arguments, because a node in a virtual machine reaches this host under another one
(``Settings.names`` puts it into the server's certificate).
"""

import secrets
import string
from typing import Any, Final

from flexlet.api.age import format_seconds
from flexlet.api.status import AlreadyExists
from flexlet.apiserver.auth.kubeconfig import kubeconfig
from flexlet.apiserver.auth.requests import NODE_PREFIX, NODES
from flexlet.apiserver.server import ApiServer
from flexlet.ports.cluster import Cluster, Ref

BOOTSTRAPPERS: Final = "system:bootstrappers"
_CSR: Final = "system:certificates.k8s.io:certificatesigningrequests"
BINDINGS: Final = {
    "flexlet:node-bootstrapper": ("system:node-bootstrapper", BOOTSTRAPPERS),
    "flexlet:node-client-approval": (f"{_CSR}:nodeclient", BOOTSTRAPPERS),
    "flexlet:node-client-renewal": (f"{_CSR}:selfnodeclient", NODES),
}
"""ClusterRoleBindings: name, role, group."""

_ROLE_BINDINGS: Final = Ref("rbac.authorization.k8s.io", "v1", "clusterrolebindings")
_SECRETS: Final = Ref("", "v1", "secrets")
_RBAC: Final = "rbac.authorization.k8s.io"
_DIGITS: Final = string.ascii_lowercase + string.digits
_DAY_S: Final = 86400.0


async def allow(cluster: Cluster) -> None:
    """Let bootstrap tokens ask for node certificates, and nodes renew their own. Doing it again is no harm."""
    for name, (role, group) in BINDINGS.items():
        body = {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": group}],
        }
        try:
            await cluster.create(_ROLE_BINDINGS, "", body)
        except AlreadyExists:
            continue


def node_kubeconfig(server: ApiServer, node: str, url: str) -> bytes:
    """A complete kubeconfig of one node, good for a year; `url` is where the node reaches the server."""
    user = f"{NODE_PREFIX}{node}"
    credential = server.pki.client(user, [NODES], server.clock.now())
    return kubeconfig(url, server.pki.ca_pem, user, credential).encode()


async def bootstrap_kubeconfig(server: ApiServer, url: str, lifetime_s: float = _DAY_S) -> bytes:
    """A kubeconfig with a new bootstrap token: any node may join with it until it ends."""
    await allow(server.cluster)
    token_id, secret = _random(6), _random(16)
    ends = format_seconds(server.clock.now() + lifetime_s)
    await server.cluster.create(_SECRETS, "kube-system", _token_secret(token_id, secret, ends))
    user = f"system:bootstrap:{token_id}"
    return kubeconfig(url, server.pki.ca_pem, user, f"{token_id}.{secret}").encode()


def _token_secret(token_id: str, secret: str, ends: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"bootstrap-token-{token_id}", "namespace": "kube-system"},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "description": "Lets nodes join; made by flexlet.",
            "token-id": token_id,
            "token-secret": secret,
            "expiration": ends,
            "usage-bootstrap-authentication": "true",
        },
    }


def _random(length: int) -> str:
    return "".join(secrets.choice(_DIGITS) for _ in range(length))
