"""A serving certificate that nobody signs: ``kubelet.crt`` and ``kubelet.key``.

Used where neither certificate files nor ``serverTLSBootstrap`` are configured, as in the kubelet. It lasts a year;
one that ended, or ends within a month, is replaced at the next start.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from flexlet.adapters.pki import files, keys
from flexlet.errors import ConfigError

LIFETIME: Final = timedelta(days=365)
_MARGIN_S: Final = 30 * 86400


def ensure(directory: Path, host: str, now: float, ips: tuple[str, ...] = ()) -> tuple[Path, Path]:
    """The files of a certificate for this host and its key, made where they are missing or ended."""
    certificate, key = directory / "kubelet.crt", directory / "kubelet.key"
    if not _lasts(certificate, key, now):
        pem = keys.new_key()
        try:
            files.write(key, pem)
            files.write(certificate, _signed(pem, host, ips, now), 0o644)
        except OSError as error:
            raise ConfigError(f"cannot keep a certificate in {directory}: {error}") from error
    return certificate, key


def _lasts(certificate: Path, key: Path, now: float) -> bool:
    if not certificate.is_file() or not key.is_file():
        return False
    try:
        return keys.facts(certificate.read_bytes(), key.read_bytes(), str(certificate)).ends - now > _MARGIN_S
    except ConfigError:
        return False  # written by halves: make both anew


def _signed(key: bytes, host: str, ips: tuple[str, ...], now: float) -> bytes:
    private = keys.private_key(key, "the new key")
    begins = datetime.fromtimestamp(int(now), UTC) - timedelta(hours=1)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{host}@{int(now)}")])
    certificate = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + LIFETIME)
        .add_extension(x509.SubjectAlternativeName(keys.general_names((host,), ips)), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(private, hashes.SHA256())
    )
    return certificate.public_bytes(Encoding.PEM)
