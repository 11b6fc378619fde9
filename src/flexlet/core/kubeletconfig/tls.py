"""TLS versions and cipher suites: Go's names, as the file has them, and OpenSSL's.

Suites of TLS 1.3 cannot be chosen, neither in Go nor here; they are accepted and stand for themselves.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.core.kubeletconfig.problems import Problem

VERSIONS: Final = {
    "": "TLSv1_2",
    "VersionTLS12": "TLSv1_2",
    "VersionTLS13": "TLSv1_3",
}
"""The file's name of a version, and the member of `ssl.TLSVersion`; without one upstream's least is 1.2."""

TLS13_SUITES: Final = frozenset(
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
)
SUITES: Final = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
}


def openssl_ciphers(suites: Iterable[str]) -> str:
    """What `ssl.SSLContext.set_ciphers` takes; empty where the suites leave nothing to choose."""
    return ":".join(dict.fromkeys(SUITES[suite] for suite in suites if suite in SUITES))


def problems(config: KubeletConfiguration) -> Iterator[Problem]:
    """Versions and suites that cannot be offered."""
    if config.tls_min_version not in VERSIONS:
        known = ", ".join(filter(None, VERSIONS))
        yield Problem("tlsMinVersion", f"{config.tls_min_version!r} is none of {known}")
    for index, suite in enumerate(config.tls_cipher_suites):
        if suite not in SUITES and suite not in TLS13_SUITES:
            yield Problem(f"tlsCipherSuites[{index}]", f"{suite!r} is unknown or broken; remove it")
