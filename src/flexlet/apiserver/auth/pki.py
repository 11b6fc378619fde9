"""The server's own authority and keys, kept in the data directory.

Made at the first start and reused at every later one, so that kubeconfigs and tokens stay good. A certificate and
its key lie in one file: they are written together and cannot part when the process is killed in between. Lost
files are made anew (then old kubeconfigs stop working); damaged ones are reported, never overwritten.
"""

import ipaddress
import ssl
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from flexlet.apiserver.auth import certificates
from flexlet.apiserver.auth.certificates import Credential
from flexlet.apiserver.auth.files import write_private
from flexlet.apiserver.auth.handshake import let_certificates_through
from flexlet.errors import ConfigError

LOCAL_HOSTS: Final = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
)
SERVING_DAYS: Final = 365
RENEW_DAYS: Final = 30
CLIENT_DAYS: Final = 365


class Pki(NamedTuple):
    """The authority, the serving certificate and the key that signs service-account tokens."""

    directory: Path
    authority: Credential
    serving: Credential
    token_key: ec.EllipticCurvePrivateKey

    @property
    def ca_pem(self) -> str:
        """The authority's certificate, for kubeconfigs and kube-root-ca.crt."""
        return self.authority.certificate_pem.decode()

    @property
    def hosts(self) -> frozenset[str]:
        """The names and addresses of the server itself, as its serving certificate has them."""
        return certificates.hosts_of(self.serving.certificate)

    def client(self, name: str, groups: Iterable[str], now: float, days: int = CLIENT_DAYS) -> Credential:
        """A client certificate for a user in some groups."""
        return certificates.issue_client(self.authority, name, tuple(groups), now, days)

    def server_context(self) -> ssl.SSLContext:
        """TLS for the server: a client certificate is welcome, not required, and for `authenticate` to judge."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=self.ca_pem)
        context.set_alpn_protocols(["http/1.1"])
        self.load_serving(context)
        let_certificates_through(context)
        return context

    def load_serving(self, context: ssl.SSLContext) -> None:
        """Serve new connections with the current certificate; also after a renewal, on a live context."""
        context.load_cert_chain(_path(self.directory, "serving"))


def open_pki(directory: Path, listen_hosts: Iterable[str], now: float) -> Pki:
    """Load what the directory holds, make what is missing, renew the serving certificate where due.

    Raises:
        ConfigError: a file is there but cannot be used.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        authority = _load(directory, "ca", lambda: certificates.new_authority("flexlet", now))
        serving = _serving(directory, authority, serving_hosts(listen_hosts), now)
        return Pki(directory, authority, serving, _token_key(directory))
    except OSError as exc:
        raise ConfigError(f"cannot keep keys in {directory}: {exc}; name a directory that can be written") from exc


def serving_hosts(listen_hosts: Iterable[str]) -> tuple[str, ...]:
    """The names and addresses the certificate covers; a listen address for all interfaces names none."""
    named = (host.strip("[]") for host in listen_hosts)
    return tuple(dict.fromkeys((*LOCAL_HOSTS, *(host for host in named if host and not _unspecified(host)))))


def _serving(directory: Path, authority: Credential, hosts: tuple[str, ...], now: float) -> Credential:
    def issue() -> Credential:
        return certificates.issue_serving(authority, hosts, now, SERVING_DAYS)

    serving = _load(directory, "serving", issue)
    if _usable(serving.certificate, authority, hosts, now):
        return serving
    return _save(directory, "serving", issue())


def _usable(certificate: x509.Certificate, authority: Credential, hosts: tuple[str, ...], now: float) -> bool:
    return (
        certificates.serves(certificate, hosts)
        and certificates.lasts(certificate, now, RENEW_DAYS)
        and certificates.issued_by(authority.certificate, certificate)
    )


def _load(directory: Path, name: str, make: Callable[[], Credential]) -> Credential:
    path = _path(directory, name)
    if not path.exists():
        return _save(directory, name, make())
    data = path.read_bytes()
    try:
        return Credential(x509.load_pem_x509_certificate(data), _private_key(data))
    except (ValueError, TypeError) as exc:
        raise _damaged(path, exc) from exc


def _save(directory: Path, name: str, credential: Credential) -> Credential:
    write_private(_path(directory, name), credential.certificate_pem + credential.key_pem)
    return credential


def _token_key(directory: Path) -> ec.EllipticCurvePrivateKey:
    path = _path(directory, "tokens")
    if not path.exists():
        key = certificates.new_key()
        write_private(path, certificates.key_pem(key))
        return key
    try:
        return _private_key(path.read_bytes())
    except (ValueError, TypeError) as exc:
        raise _damaged(path, exc) from exc


def _private_key(data: bytes) -> ec.EllipticCurvePrivateKey:
    begin = data.find(b"-----BEGIN PRIVATE KEY-----")
    key = load_pem_private_key(data[max(begin, 0) :], password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("the key is not an elliptic curve key")
    return key


def _path(directory: Path, name: str) -> Path:
    return directory / f"{name}.pem"


def _damaged(path: Path, exc: Exception) -> ConfigError:
    remedy = "restore it, or remove it to have a new one made (kubeconfigs and tokens made with it stop working)"
    return ConfigError(f"cannot read {path}: {exc}; {remedy}")


def _unspecified(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
