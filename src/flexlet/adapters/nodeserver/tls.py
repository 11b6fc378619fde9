"""How the endpoint speaks TLS.

HTTP/1.1 only, since streams are upgraded connections. A client certificate is asked for but not demanded; one that
the client CA did not sign ends the handshake, so whatever certificate comes through is trusted.
"""

import ssl
import tempfile
from typing import Final

from flexlet.errors import ConfigError

ALPN: Final = ("http/1.1",)


def serving_context(
    certificate_pem: bytes,
    key_pem: bytes,
    client_ca_pem: bytes = b"",
    *,
    minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2,
    ciphers: str = "",
) -> ssl.SSLContext:
    """A context that serves with this pair; without a client CA no client certificate is asked for.

    Args:
        certificate_pem: The serving certificate, and its chain.
        key_pem: Its key.
        client_ca_pem: The authorities whose client certificates are taken.
        minimum: The oldest version of TLS that is spoken.
        ciphers: OpenSSL's names of the suites for TLS 1.2; empty for OpenSSL's choice.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = minimum
    context.set_alpn_protocols(list(ALPN))
    try:
        if ciphers:
            context.set_ciphers(ciphers)
        with tempfile.NamedTemporaryFile(suffix=".pem") as pair:  # mode 0600; OpenSSL reads files only
            pair.write(certificate_pem + b"\n" + key_pem)
            pair.flush()
            context.load_cert_chain(pair.name)
        if client_ca_pem:
            context.load_verify_locations(cadata=client_ca_pem.decode("ascii", "replace"))
            context.verify_mode = ssl.CERT_OPTIONAL
    except ssl.SSLError as error:
        raise ConfigError(
            f"cannot serve with this certificate and client CA: {error}; check tlsCipherSuites and the files "
            "named by tlsCertFile, tlsPrivateKeyFile and authentication.x509.clientCAFile"
        ) from error
    return context
