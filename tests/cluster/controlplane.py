"""A real etcd and kube-apiserver, as ``tools/kubernetes/build`` leaves them in ``.cache/bin``, for a test."""

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from flexlet.apiserver.auth import certificates
from flexlet.apiserver.auth.certificates import Credential

BIN = Path(__file__).parents[2] / ".cache" / "bin"
ETCD, APISERVER = BIN / "etcd-v1.36.3", BIN / "kube-apiserver-v1.36.3"
NEED = "needs kube-apiserver and etcd: run `tools/kubernetes/build etcd kube-apiserver` (Go)"
STOP_S = 30


class ControlPlane(NamedTuple):
    """A running API server, its authority, and a kubeconfig for its administrator."""

    url: str
    authority: Credential
    kubeconfig: Path

    def client(self, name: str, *groups: str) -> Credential:
        """A client certificate that it takes."""
        return certificates.issue_client(self.authority, name, groups, time.time(), 1)

    def serving(self) -> Credential:
        """A serving certificate for this host."""
        return certificates.issue_serving(self.authority, ("127.0.0.1", "localhost"), time.time(), 1)


@contextmanager
def control_plane(directory: Path) -> Iterator[ControlPlane]:
    """Start both; stop both."""
    authority = certificates.new_authority("ca", time.time())
    port, etcd_port, peer_port = _free_port(), _free_port(), _free_port()
    plane = ControlPlane(f"https://127.0.0.1:{port}", authority, directory / "kubeconfig")
    files = {
        "ca": authority,
        "serving": plane.serving(),
        "node-client": plane.client("kube-apiserver-kubelet-client", "system:masters"),
        "admin": plane.client("admin", "system:masters"),
    }
    for name, credential in files.items():
        (directory / f"{name}.crt").write_bytes(credential.certificate_pem)
        (directory / f"{name}.key").write_bytes(credential.key_pem)
    plane.kubeconfig.write_text(json.dumps(_kubeconfig(plane.url, directory)))
    etcd_url = f"http://127.0.0.1:{etcd_port}"
    with (
        _running(directory, [ETCD, *_etcd_flags(directory, etcd_url, f"http://127.0.0.1:{peer_port}")]),
        _running(directory, [APISERVER, *_apiserver_flags(directory, etcd_url, port)]),
    ):
        yield plane


def _etcd_flags(directory: Path, url: str, peer_url: str) -> list[str]:
    urls = [f"--listen-client-urls={url}", f"--advertise-client-urls={url}", f"--listen-peer-urls={peer_url}"]
    return [f"--data-dir={directory / 'etcd'}", "--unsafe-no-fsync", *urls]


def _apiserver_flags(directory: Path, etcd_url: str, port: int) -> list[str]:
    return [
        f"--etcd-servers={etcd_url}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={directory}/ca.crt",
        f"--service-account-signing-key-file={directory}/ca.key",
        f"--client-ca-file={directory}/ca.crt",
        f"--tls-cert-file={directory}/serving.crt",
        f"--tls-private-key-file={directory}/serving.key",
        f"--kubelet-client-certificate={directory}/node-client.crt",
        f"--kubelet-client-key={directory}/node-client.key",
        f"--kubelet-certificate-authority={directory}/ca.crt",
        "--kubelet-preferred-address-types=InternalIP",
        "--authorization-mode=Node,RBAC",
        "--disable-admission-plugins=ServiceAccount",
    ]


@contextmanager
def _running(directory: Path, command: list[Path | str]) -> Iterator[None]:
    with (
        (directory / f"{Path(command[0]).name}.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            yield
        finally:
            process.terminate()
            process.wait(STOP_S)


def _kubeconfig(url: str, directory: Path) -> dict[str, object]:
    cluster = {"server": url, "certificate-authority": f"{directory}/ca.crt"}
    user = {"client-certificate": f"{directory}/admin.crt", "client-key": f"{directory}/admin.key"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "admin", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "current-context": "test",
    }


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
