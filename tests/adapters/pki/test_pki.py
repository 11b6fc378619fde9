"""The node's key files: names, forms, and what survives."""

import ssl
import stat
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from flexlet.adapters.pki import keys, selfsigned
from flexlet.adapters.pki.pairs import CLIENT, SERVER, PairFiles
from flexlet.core.certificates import wanted
from flexlet.core.certificates.wanted import Held
from flexlet.errors import ConfigError

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
SERVING = wanted.serving("n1", [("Hostname", "n1"), ("InternalIP", "10.0.0.2")])


def signed(csr: bytes, now: float = NOW, life_s: float = 3600) -> bytes:
    """A certificate for a request, signed by whoever."""
    request = x509.load_pem_x509_csr(csr)
    authority = keys.private_key(keys.new_key(), "ca")
    begins = datetime.fromtimestamp(now, UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
    builder = (
        x509.CertificateBuilder(name, request.subject, request.public_key(), x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(seconds=life_s))
    )
    for extension in request.extensions:
        builder = builder.add_extension(extension.value, critical=False)
    return builder.sign(authority, hashes.SHA256()).public_bytes(Encoding.PEM)


def leads_to(files: PairFiles) -> Path:
    return Path(files.path).readlink()


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def damage(files: PairFiles) -> str:
    Path(files.path).write_text("rubbish")
    return files.path


def stop_halfway(files: PairFiles) -> None:
    """As a kubelet that is killed between removing the link and putting the next one there."""
    current = Path(files.path)
    current.rename(current.with_name("kubelet-client-updated.pem"))


def test_a_request_has_the_wanted_subject_and_names() -> None:
    assert SERVING is not None
    request = x509.load_pem_x509_csr(keys.request(keys.new_key(), SERVING))
    assert request.is_signature_valid
    assert request.subject.rfc4514_string() == "CN=system:node:n1,O=system:nodes"
    found = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(found) == [x509.DNSName("n1"), x509.IPAddress(ip_address("10.0.0.2"))]
    plain = x509.load_pem_x509_csr(keys.request(keys.new_key(), wanted.client("n1")))
    assert len(plain.extensions) == 0


def test_keys_are_written_as_kubelets_write_them() -> None:
    assert keys.new_key().startswith(b"-----BEGIN EC PRIVATE KEY-----\n")


async def test_a_pair_is_kept_in_a_dated_file_behind_a_link(tmp_path: Path) -> None:
    """The files and the link are the kubelet's; only the owner may read them."""
    assert SERVING is not None
    files = PairFiles(tmp_path / "pki", SERVER, lambda: NOW)
    assert await files.load() is None
    draft = await files.draft(SERVING)
    held = await files.save(signed(draft.csr), draft.key)
    assert held == Held(
        begins=NOW,
        ends=NOW + 3600,
        common_name="system:node:n1",
        organizations=("system:nodes",),
        dns_names=("n1",),
        ips=("10.0.0.2",),
    )
    assert wanted.satisfies(held, SERVING)
    assert await files.load() == held
    dated = tmp_path / "pki" / "kubelet-server-2027-01-15-08-00-00.pem"
    assert Path(files.path) == tmp_path / "pki" / "kubelet-server-current.pem"
    assert leads_to(files) == dated
    assert stat.S_IMODE(dated.stat().st_mode) == 0o600
    assert names(tmp_path / "pki") == {dated.name, "kubelet-server-current.pem"}
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.path)


async def test_the_next_pair_takes_the_link_over(tmp_path: Path) -> None:
    now = [NOW]
    files = PairFiles(tmp_path, CLIENT, lambda: now[0])
    for moment in (NOW, NOW + 60):
        now[0] = moment
        draft = await files.draft(wanted.client("n1"))
        await files.save(signed(draft.csr, moment), draft.key)
    assert leads_to(files).name == "kubelet-client-2027-01-15-08-01-00.pem"
    held = await files.load()
    assert held is not None
    assert held.begins == NOW + 60


async def test_a_key_that_is_not_the_certificates_is_refused(tmp_path: Path) -> None:
    """Before anything is written."""
    files = PairFiles(tmp_path, CLIENT, lambda: NOW)
    draft = await files.draft(wanted.client("n1"))
    with pytest.raises(ConfigError, match="the key is not the certificate's"):
        await files.save(signed(draft.csr), keys.new_key())
    assert names(tmp_path) == set()


async def test_the_first_key_waits_for_its_certificate(tmp_path: Path) -> None:
    """The same key and name after a restart, until a pair is saved or the key forgotten."""
    files = PairFiles(tmp_path, CLIENT, lambda: NOW)
    first = await files.first_draft(wanted.client("n1"))
    again = await PairFiles(tmp_path, CLIENT, lambda: NOW).first_draft(wanted.client("n1"))
    assert (again.key, again.name) == (first.key, first.name)
    assert (tmp_path / "kubelet-client.key.tmp").read_bytes() == first.key
    await files.forget_key()
    other = await files.first_draft(wanted.client("n1"))
    assert other.name != first.name
    await files.save(signed(other.csr), other.key)
    assert not (tmp_path / "kubelet-client.key.tmp").exists()


async def test_pairs_that_others_put_there_are_used(tmp_path: Path) -> None:
    """Configured files first, then NAME.crt and NAME.key; the link before both."""
    files = PairFiles(tmp_path, CLIENT, lambda: NOW, (str(tmp_path / "a.pem"), str(tmp_path / "b.pem")))
    begins = []
    for crt, key, moment in (("kubelet-client.crt", "kubelet-client.key", 1), ("a.pem", "b.pem", 2)):
        draft = await files.draft(wanted.client("n1"))
        (tmp_path / crt).write_bytes(signed(draft.csr, NOW + moment))
        (tmp_path / key).write_bytes(draft.key)
        held = await files.load()
        begins.append(held and held.begins)
    draft = await files.draft(wanted.client("n1"))
    await files.save(signed(draft.csr, NOW + 3), draft.key)
    held = await files.load()
    assert [*begins, held and held.begins] == [NOW + 1, NOW + 2, NOW + 3]


async def test_a_rotation_that_a_kubelet_did_not_finish_is_ended(tmp_path: Path) -> None:
    files = PairFiles(tmp_path, CLIENT, lambda: NOW)
    draft = await files.draft(wanted.client("n1"))
    held = await files.save(signed(draft.csr), draft.key)
    stop_halfway(files)
    assert await files.load() == held
    assert leads_to(files).name == "kubelet-client-2027-01-15-08-00-00.pem"


async def test_damaged_files_are_named(tmp_path: Path) -> None:
    files = PairFiles(tmp_path, CLIENT, lambda: NOW)
    current = damage(files)
    with pytest.raises(ConfigError, match=rf"^{current}: cannot read the certificate: .*; remove it"):
        await files.load()
    draft = await files.draft(wanted.client("n1"))
    with pytest.raises(ConfigError, match=f"^{current} is a file and should be a link; move it away"):
        await files.save(signed(draft.csr), draft.key)


def test_a_self_signed_pair_is_made_once_and_replaced_when_it_ends(tmp_path: Path) -> None:
    now = time.time()
    crt, key = selfsigned.ensure(tmp_path, "n1", now, ("10.0.0.2",))
    held = keys.facts(crt.read_bytes(), key.read_bytes(), "f")
    assert (crt.name, key.name, held.dns_names, held.ips) == (
        "kubelet.crt",
        "kubelet.key",
        ("n1",),
        ("10.0.0.2",),
    )
    assert held.ends - held.begins == 365 * 86400
    before = crt.read_bytes()
    selfsigned.ensure(tmp_path, "n1", now + 86400)
    assert crt.read_bytes() == before
    selfsigned.ensure(tmp_path, "n1", now + 360 * 86400)
    assert crt.read_bytes() != before
    key.write_bytes(keys.new_key())
    selfsigned.ensure(tmp_path, "n1", now)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(crt, key)


def test_the_library_is_loaded_only_when_needed() -> None:
    """A node that has what it needs does without."""
    code = "import sys, flexlet.apps.nodecredentials; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    place = tmp_path / "taken"
    place.write_text("")
    with pytest.raises(ConfigError, match=f"cannot keep a certificate in {place}: .*Not a directory|File exists"):
        selfsigned.ensure(place, "n1", 1_800_000_000.0)
