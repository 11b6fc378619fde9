"""TLS towards nodes: who we are, and that the node is who it should be before anything is sent.

Our certificate is that of the kubelet API's client and good for nothing else. The node's must be signed by the
cluster's authority for the node itself (subject ``system:node:NAME``, as the signer kubelet-serving demands) and
for the name or address that is connected to. Of certificates that another authority signed the name alone is
checked, since we do not know its subjects. There is no way to leave the check out.
"""

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from flexlet.errors import ConfigError

NODE_PREFIX: Final = "system:node:"
REMEDY: Final = (
    "nothing was sent; let the node ask the cluster for its certificate (serverTLSBootstrap: true in its "
    "KubeletConfiguration), or name the authority that signed it (flexlet server --kubelet-certificate-authority)"
)


class NodeTrust:
    """Makes the context of each connection."""

    def __init__(self, ca_pem: str, pair: Callable[[], Path], *, is_cluster_ca: bool = True) -> None:
        self._ca_pem = ca_pem
        self._pair = pair
        self._is_cluster_ca = is_cluster_ca

    def context(self, node: str) -> ssl.SSLContext:
        """TLS to one node; the handshake fails unless the other end is that node."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.hostname_checks_common_name = False
        context.set_alpn_protocols(["http/1.1"])
        context.load_verify_locations(cadata=self._ca_pem)
        context.load_cert_chain(self._pair())
        if self._is_cluster_ca:
            context.sslobject_class = _of_node(f"{NODE_PREFIX}{node}")
        return context


def load_authorities(path: Path) -> str:
    """Certificates of authorities from a file; ConfigError if it has none."""
    try:
        text = path.read_text(encoding="ascii")
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (OSError, UnicodeError, ssl.SSLError, ValueError) as error:
        raise ConfigError(
            f"cannot read --kubelet-certificate-authority {path}: {error}; name a file with PEM certificates"
        ) from error
    return text


def _of_node(user: str) -> type[ssl.SSLObject]:
    """A TLS session that ends in its handshake unless the peer's subject is `user`."""

    class Session(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            names = _common_names(self.getpeercert() or {})
            if names != [user]:
                shown = ", ".join(names) or "nobody"
                raise ssl.SSLCertVerificationError(f"the certificate is that of {shown}, not of {user}")

    return Session


def _common_names(certificate: dict[str, Any]) -> list[str]:
    subject = (pair for relative in certificate.get("subject", ()) for pair in relative)
    return [value for key, value in subject if key == "commonName"]


def explained(error: BaseException) -> str:
    """What went wrong with a connection; for a certificate also what to do."""
    inner = getattr(error, "certificate_error", error)  # aiohttp wraps it
    if isinstance(inner, ssl.SSLCertVerificationError):
        text = getattr(inner, "verify_message", "") or str(inner.args[-1] if inner.args else inner)
        return f"cannot verify the node's certificate: {text}; {REMEDY}"
    return str(error) or type(error).__name__
