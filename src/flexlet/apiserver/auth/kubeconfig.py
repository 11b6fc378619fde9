"""A complete kubeconfig: server address, authority and credentials embedded, nothing to look up elsewhere.

Written by hand rather than with a YAML library: the few values that vary are JSON strings, which are YAML too.
"""

from base64 import b64encode
from pathlib import Path

import msgspec

from flexlet.apiserver.auth.certificates import Credential
from flexlet.apiserver.auth.files import write_private


def kubeconfig(server: str, ca_pem: str, user: str, credential: Credential | str, *, name: str = "flexlet") -> str:
    """The text for `user` at `server`; the credential is a client certificate or a bearer token."""
    cluster, who = _quoted(name), _quoted(user)
    lines = (
        "apiVersion: v1",
        "kind: Config",
        f"current-context: {cluster}",
        "clusters:",
        f"- name: {cluster}",
        "  cluster:",
        f"    server: {_quoted(server)}",
        f"    certificate-authority-data: {_base64(ca_pem.encode())}",
        "users:",
        f"- name: {who}",
        "  user:",
        *_credentials(credential),
        "contexts:",
        f"- name: {cluster}",
        "  context:",
        f"    cluster: {cluster}",
        f"    user: {who}",
        "preferences: {}",
    )
    return "\n".join(lines) + "\n"


def write_kubeconfig(path: Path, text: str) -> None:
    """Write the file whole, readable by its owner only, making its directory if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_private(path, text.encode())


def _credentials(credential: Credential | str) -> tuple[str, ...]:
    if isinstance(credential, str):
        return (f"    token: {_quoted(credential)}",)
    return (
        f"    client-certificate-data: {_base64(credential.certificate_pem)}",
        f"    client-key-data: {_base64(credential.key_pem)}",
    )


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
