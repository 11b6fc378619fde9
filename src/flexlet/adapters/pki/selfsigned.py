"""A serving certificate that nobody signs: ``kubelet.crt`` and ``kubelet.key``.

Used where neither certificate files nor ``serverTLSBootstrap`` are configured, as in the kubelet. It lasts a year;
files that are older than eleven months, or do not fit together, are replaced at the next start.
"""

import ssl
from pathlib import Path
from typing import Final

from flexlet.adapters.pki import files
from flexlet.errors import ConfigError

LIFETIME_S: Final = 365 * 86400.0
_MARGIN_S: Final = 30 * 86400.0


def ensure(directory: Path, host: str, now: float, ips: tuple[str, ...] = ()) -> tuple[Path, Path]:
    """The files of a certificate for this host and its key, made where they are missing or old."""
    certificate, key = directory / "kubelet.crt", directory / "kubelet.key"
    if not _lasts(certificate, key, now):
        from flexlet.adapters.pki import keys

        pem = keys.new_key()
        try:
            files.write(key, pem)
            files.write(certificate, keys.self_signed(pem, host, ips, now, LIFETIME_S), 0o644)
        except OSError as error:
            raise ConfigError(f"cannot keep a certificate in {directory}: {error}") from error
    return certificate, key


def _lasts(certificate: Path, key: Path, now: float) -> bool:
    """By the file's age, since reading its dates would take a library; OpenSSL knows if the two are a pair."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        return now - certificate.stat().st_mtime < LIFETIME_S - _MARGIN_S
    except (OSError, ssl.SSLError):
        return False
