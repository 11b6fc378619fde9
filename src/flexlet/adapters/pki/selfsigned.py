"""A serving certificate that nobody signs: ``kubelet.crt`` and ``kubelet.key``.

Used where neither certificate files nor ``serverTLSBootstrap`` are configured, as in the kubelet. It lasts a year;
files that are older than eleven months, or do not fit together, are replaced at the next start.

They are made in a process of its own: the library that does it takes 12 MB, and a node needs it once a year.
"""

import ssl
import subprocess
import sys
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
        command = [sys.executable, "-m", __name__, str(directory.absolute()), host, str(now), *ips]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 our own program
        if done.returncode:
            raise ConfigError(f"cannot keep a certificate in {directory}: {done.stderr.strip()}")
    return certificate, key


def make(directory: Path, host: str, now: float, ips: tuple[str, ...]) -> None:
    """Write both files; OSError if that cannot be."""
    from flexlet.adapters.pki import keys

    pem = keys.new_key()
    files.write(directory / "kubelet.key", pem)
    files.write(directory / "kubelet.crt", keys.self_signed(pem, host, ips, now, LIFETIME_S), 0o644)


def _lasts(certificate: Path, key: Path, now: float) -> bool:
    """By the file's age, since reading its dates would take a library; OpenSSL knows if the two are a pair."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        return now - certificate.stat().st_mtime < LIFETIME_S - _MARGIN_S
    except (OSError, ssl.SSLError):
        return False


if __name__ == "__main__":
    place, name, when, *addresses = sys.argv[1:]
    try:
        make(Path(place), name, float(when), tuple(addresses))
    except OSError as error:
        sys.exit(str(error))
