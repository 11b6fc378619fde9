"""Keys and certificates: made once, kept private, renewed in time, good for TLS."""

import ssl
import stat
import time
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from tests.apiserver.auth.world import NOW

from flexlet.apiserver.auth import certificates
from flexlet.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from flexlet.apiserver.auth.pki import LOCAL_HOSTS, Pki, open_pki, serving_hosts
from flexlet.errors import ConfigError

DAY = 86400


def modes(directory: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in directory.iterdir()}


def test_files_are_private_and_reused(tmp_path: Path) -> None:
    """A second start finds everything the first one made, and only the owner can read it."""
    directory = tmp_path / "data" / "pki"
    first = open_pki(directory, ["127.0.0.1"], NOW)
    second = open_pki(directory, ["127.0.0.1"], NOW + DAY)
    assert modes(directory) == {"ca.pem": "0o600", "serving.pem": "0o600", "tokens.pem": "0o600"}
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert second.ca_pem == first.ca_pem
    assert second.serving.certificate == first.serving.certificate
    assert second.token_key.private_numbers() == first.token_key.private_numbers()


@pytest.mark.parametrize(
    ("hosts", "later_s", "renewed"),
    [
        (["10.0.0.1"], 334 * DAY, False),
        (["10.0.0.1"], 336 * DAY, True),
        (["10.0.0.2"], 0, True),
        (["0.0.0.0"], 0, True),  # noqa: S104
    ],
)
def test_the_serving_certificate_is_renewed_when_due(
    tmp_path: Path, hosts: list[str], later_s: float, renewed: bool
) -> None:
    """A month before its end, or when the server goes by other names."""
    first = open_pki(tmp_path, ["10.0.0.1"], NOW)
    second = open_pki(tmp_path, hosts, NOW + later_s)
    assert (second.serving.certificate != first.serving.certificate) is renewed
    assert certificates.serves(second.serving.certificate, serving_hosts(hosts))


def test_another_authority_takes_its_serving_certificate_along(tmp_path: Path) -> None:
    """A certificate of a lost authority is of no use."""
    first = open_pki(tmp_path, [], NOW)
    (tmp_path / "ca.pem").unlink()
    second = open_pki(tmp_path, [], NOW)
    assert second.ca_pem != first.ca_pem
    second.serving.certificate.verify_directly_issued_by(second.authority.certificate)
    assert second.serving.certificate != first.serving.certificate


def test_a_damaged_file_is_reported_and_left_alone(tmp_path: Path) -> None:
    """The operator decides what to do about it."""
    open_pki(tmp_path, [], NOW)
    for name in ("ca", "tokens"):
        path = tmp_path / f"{name}.pem"
        kept = path.read_bytes()
        path.write_text("nonsense")
        with pytest.raises(ConfigError, match=f"cannot read {path}: .*; restore it, or remove it"):
            open_pki(tmp_path, [], NOW)
        assert path.read_text() == "nonsense"
        path.write_bytes(kept)


def test_an_unusable_directory_is_reported(tmp_path: Path) -> None:
    """The message names the directory."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=f"cannot keep keys in {tmp_path}/file/pki: .*"):
        open_pki(tmp_path / "file" / "pki", [], NOW)


def test_hosts_of_the_certificate() -> None:
    """Local names always; the listen host unless it stands for all interfaces."""
    assert serving_hosts(["0.0.0.0", "::", "", "127.0.0.1"]) == LOCAL_HOSTS  # noqa: S104
    assert serving_hosts(["node.example", "[fd00::1]"]) == (*LOCAL_HOSTS, "node.example", "fd00::1")


class Peers:
    """A TLS client and a server talking through memory."""

    def __init__(self, pki: Pki, client: ssl.SSLContext, host: str) -> None:
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.server = pki.server_context().wrap_bio(to_server, to_client, server_side=True)
        self.client = client.wrap_bio(to_client, to_server, server_hostname=host)

    def shake(self) -> bytes | None:
        """Finish the handshake; the server's view of the client's certificate."""
        waiting = [self.client, self.server]
        for _ in range(10):
            for side in list(waiting):
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    continue
                waiting.remove(side)
            if not waiting:
                return self.server.getpeercert(True)
        raise AssertionError("the handshake does not end")


def client_context(pki: Pki, credential: certificates.Credential | None, tmp_path: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=pki.ca_pem)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    if credential is not None:
        path = tmp_path / "client.pem"
        path.write_bytes(credential.certificate_pem + credential.key_pem)
        context.load_cert_chain(path)
    return context


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return open_pki(tmp_path / "pki", ["server.example"], _now())


def _now() -> float:
    return time.time()  # OpenSSL has no other clock


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc", "server.example"])
def test_strict_clients_accept_the_server_under_its_names(pki: Pki, tmp_path: Path, host: str) -> None:
    """A client certificate is not required."""
    assert Peers(pki, client_context(pki, None, tmp_path), host).shake() is None


def test_a_client_certificate_reaches_the_server(pki: Pki, tmp_path: Path) -> None:
    """What TLS hands over is the certificate that was issued."""
    credential = pki.client("alice", ["devs"], _now())
    der = Peers(pki, client_context(pki, credential, tmp_path), "localhost").shake()
    assert der == credential.certificate.public_bytes(Encoding.DER)


@pytest.mark.parametrize("flaw", ["foreign", "expired", "serving"])
def test_every_certificate_comes_through_the_handshake(pki: Pki, tmp_path: Path, flaw: str) -> None:
    """Signed by somebody else, out of time, or made for serving: authentication refuses it, with an answer."""
    now = _now()
    other = certificates.new_authority("other", now)
    credential = {
        "foreign": certificates.issue_client(other, "alice", (), now, 1),
        "expired": pki.client("alice", (), now - 3 * DAY, days=1),
        "serving": pki.serving,
    }[flaw]
    der = Peers(pki, client_context(pki, credential, tmp_path), "localhost").shake()
    assert der == credential.certificate.public_bytes(Encoding.DER)


def test_leaves_are_no_authorities_and_do_not_outlive_theirs() -> None:
    """A certificate for a hundred years ends with the authority."""
    authority = certificates.new_authority("test", NOW, days=10)
    leaf = certificates.issue_client(authority, "alice", (), NOW, 36500).certificate
    assert leaf.not_valid_after_utc == authority.certificate.not_valid_after_utc
    assert leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False


def test_a_kubeconfig_is_complete(pki: Pki, tmp_path: Path) -> None:
    """Server, authority and credentials are in the file; only its owner can read it."""
    path = tmp_path / "deep" / "kubeconfig"
    credential = pki.client("admin", ["system:masters"], NOW)
    write_kubeconfig(path, kubeconfig("https://127.0.0.1:6443", pki.ca_pem, "admin", credential))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["kubeconfig"]
    found: Any = yaml.safe_load(path.read_text())
    entry = found["users"][0]["user"]
    cluster = found["clusters"][0]["cluster"]
    assert b64decode(entry.pop("client-certificate-data")) == credential.certificate_pem
    assert b64decode(entry.pop("client-key-data")) == credential.key_pem
    assert b64decode(cluster.pop("certificate-authority-data")).decode() == pki.ca_pem
    assert found == {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "flexlet",
        "clusters": [{"name": "flexlet", "cluster": {"server": "https://127.0.0.1:6443"}}],
        "users": [{"name": "admin", "user": {}}],
        "contexts": [{"name": "flexlet", "context": {"cluster": "flexlet", "user": "admin"}}],
        "preferences": {},
    }


def test_a_kubeconfig_may_carry_a_token() -> None:
    """Then there is no certificate in it; names are quoted, whatever they contain."""
    found = yaml.safe_load(kubeconfig("https://s", "ca", 'a: "b"', "abc.def", name="n"))
    assert found["users"] == [{"name": 'a: "b"', "user": {"token": "abc.def"}}]
