"""Who the server is to its nodes: a user that may use the kubelet's API and nothing else.

Not ``system:masters``: what a node, or somebody who poses as one, could do with a request of ours must be worth
nothing elsewhere. The role is bound to the group that is in the certificate, by an object of `initial_objects`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from flexlet.apiserver.auth.certificates import DAY_S
from flexlet.apiserver.auth.files import write_private
from flexlet.apiserver.auth.pki import CLIENT_DAYS, Pki

USER: Final = "kube-apiserver-kubelet-client"
GROUP: Final = "flexlet:kubelet-api-clients"
ROLE: Final = "system:kubelet-api-admin"
BINDING: Final = "flexlet:kubelet-api-admin"
_RBAC: Final = "rbac.authorization.k8s.io"
_RENEW_S: Final = CLIENT_DAYS * DAY_S / 2


def binding() -> dict[str, Any]:
    """The ClusterRoleBinding that lets the server's own client use nodes."""
    return {
        "kind": "ClusterRoleBinding",
        "apiVersion": f"{_RBAC}/v1",
        "metadata": {"name": BINDING},
        "subjects": [{"kind": "Group", "apiGroup": _RBAC, "name": GROUP}],
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": ROLE},
    }


class KubeletClient:
    """Keeps the client's certificate and key in a file, since OpenSSL reads files only."""

    def __init__(self, pki: Pki, clock: Callable[[], float]) -> None:
        self._pki = pki
        self._clock = clock
        self._made_at: float | None = None

    def pair(self) -> Path:
        """The file; its pair is made anew at each start and again before it is old."""
        path, now = self._pki.directory / "node-client.pem", self._clock()
        if self._made_at is None or now - self._made_at > _RENEW_S:
            credential = self._pki.client(USER, [GROUP], now)
            write_private(path, credential.certificate_pem + credential.key_pem)
            self._made_at = now
        return path
