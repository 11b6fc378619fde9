"""A real Kubernetes control plane on this machine, for comparison: etcd, kube-apiserver, and the two others.

The programs come from ``tools/kubernetes/build`` (Go modules). Everything listens on loopback and lives in a
temporary directory; leaving the context stops it all.
"""

import contextlib
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from flexlet.adapters.kube import kubeconfig as kube
from flexlet.apiserver.auth.certificates import (
    Credential,
    issue_client,
    issue_serving,
    key_pem,
    new_authority,
    new_key,
)
from flexlet.apiserver.auth.kubeconfig import kubeconfig

VERSION: Final = "v1.36.3"
BIN: Final = Path(__file__).parent.parent / ".cache" / "bin"
NAMES: Final = ("127.0.0.1", "localhost", "10.0.2.2")
"""How clients reach the API server; the last is this host as a guest of QEMU sees it."""
PROGRAMS: Final = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


def missing() -> str:
    """What is needed before a control plane can run; empty if nothing."""
    absent = [name for name in PROGRAMS if not (BIN / f"{name}-{VERSION}").exists()]
    return f"needs tools/kubernetes/build {' '.join(absent)}" if absent else ""


class ControlPlane:
    """A running control plane."""

    def __init__(self, parts: "_Parts", ready_s: float) -> None:
        self.kubeconfig = parts.admin
        self.ready_s = ready_s
        self._parts = parts

    def start_controllers(self) -> None:
        """Start the controller manager and the scheduler too."""
        self._parts.controllers()

    @property
    def url(self) -> str:
        """Where the API server is."""
        return self._parts.url

    def client(self, name: str, *groups: str) -> Credential:
        """A client certificate that the API server takes."""
        return self._parts.client(name, *groups)

    def serving(self) -> Credential:
        """A serving certificate for this host."""
        return self._parts.serving()

    def node_kubeconfig(self, node: str, host: str) -> bytes:
        """Credentials of a node that reaches the API server as `host`."""
        return self._parts.node_kubeconfig(node, host).encode()

    @property
    def ca(self) -> bytes:
        """The certificate that everybody's is signed with."""
        return self._parts.ca

    def log(self, program: str) -> str:
        """What a program has printed."""
        return (self._parts.home / f"{program}.log").read_text(errors="replace")

    def resident_bytes(self) -> dict[str, int]:
        """Resident memory per program."""
        return {name: resident(process.pid) for name, process in self._parts.processes.items()}


def resident(pid: int) -> int:
    """VmRSS of a process."""
    text = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmRSS"))


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def control_plane(*flags: str) -> Iterator[ControlPlane]:
    """Start etcd and the API server, with further flags; ready means that ``/readyz`` says ok."""
    with tempfile.TemporaryDirectory() as home, contextlib.ExitStack() as stack:
        parts = _Parts(Path(home), stack)
        begin = time.monotonic()
        parts.etcd()
        parts.apiserver(*flags)
        parts.wait_ready()
        yield ControlPlane(parts, time.monotonic() - begin)


class _Parts:
    def __init__(self, home: Path, stack: contextlib.ExitStack) -> None:
        self.home = home
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._stack = stack
        self._now = time.time()
        self._ca = new_authority("bench", self._now)
        self._etcd, self._port = free_port(), free_port()
        self.admin = self._kubeconfig("admin", "system:masters")

    def _start(self, name: str, *flags: str) -> None:
        with (self.home / f"{name}.log").open("wb") as log:
            process = subprocess.Popen([str(BIN / f"{name}-{VERSION}"), *flags], stdout=log, stderr=log)
        self.processes[name] = process
        self._stack.callback(_stop, process)

    def _write(self, name: str, data: bytes) -> str:
        path = self.home / name
        path.write_bytes(data)
        return str(path)

    def _pair(self, name: str, credential: Credential) -> tuple[str, str]:
        return self._write(f"{name}.crt", credential.certificate_pem), self._write(
            f"{name}.key", credential.key_pem
        )

    def _kubeconfig(self, user: str, *groups: str) -> Path:
        credential = self.client(user, *groups)
        server, ca = self.url, self.ca.decode()
        path = self.home / f"{user.replace(':', '-')}.kubeconfig"
        path.write_text(kubeconfig(server, ca, user, credential))
        return path

    @property
    def ca(self) -> bytes:
        return self._ca.certificate_pem

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._port}"

    def client(self, name: str, *groups: str) -> Credential:
        return issue_client(self._ca, name, groups, self._now, 1)

    def serving(self) -> Credential:
        return issue_serving(self._ca, [*NAMES], self._now, 1)

    def node_kubeconfig(self, node: str, host: str) -> str:
        user = f"system:node:{node}"
        credential = self.client(user, "system:nodes")
        return kubeconfig(f"https://{host}:{self._port}", self.ca.decode(), user, credential)

    def etcd(self) -> None:
        peer, client = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{self._etcd}"
        self._start(
            "etcd",
            f"--data-dir={self.home}/etcd",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
        )

    def apiserver(self, *flags: str) -> None:
        certificate, key = self._pair("serving", self.serving())
        client, client_key = self._pair("node-client", self.client("node-client", "system:masters"))
        account_key = new_key()
        public = account_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        self._start(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self._etcd}",
            f"--secure-port={self._port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            f"--client-ca-file={self._write('ca.crt', self._ca.certificate_pem)}",
            f"--service-account-key-file={self._write('accounts.pub', public)}",
            f"--service-account-signing-key-file={self._write('accounts.key', key_pem(account_key))}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--kubelet-client-certificate={client}",
            f"--kubelet-client-key={client_key}",
            "--kubelet-preferred-address-types=Hostname,InternalIP",
            *flags,
        )

    def controllers(self) -> None:
        manager = self._kubeconfig("system:kube-controller-manager")
        self._start(
            "kube-controller-manager",
            f"--kubeconfig={manager}",
            f"--service-account-private-key-file={self.home}/accounts.key",
            f"--root-ca-file={self.home}/ca.crt",
            "--use-service-account-credentials=true",
            "--secure-port=0",
        )
        self._start(
            "kube-scheduler", f"--kubeconfig={self._kubeconfig('system:kube-scheduler')}", "--secure-port=0"
        )
        _wait(lambda: _exists(self.admin, "/api/v1/namespaces/kube-system/serviceaccounts/default"), 60)

    def wait_ready(self) -> None:
        _wait(lambda: _exists(self.admin, "/readyz"), 120)


def _exists(kubeconfig: Path, path: str) -> bool:
    credentials = kube.load(kubeconfig)
    try:
        with urllib.request.urlopen(  # noqa: S310 loopback, our own server
            credentials.server + path, context=kube.ssl_context(credentials), timeout=5
        ):
            return True
    except OSError:
        return False


def _wait(done: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the control plane was not ready within {seconds:g} s")
        time.sleep(0.05)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
