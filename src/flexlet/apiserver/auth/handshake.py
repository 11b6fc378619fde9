"""Let every client certificate through the TLS handshake, so that a bad one is answered and not cut off.

kube-apiserver asks for a client certificate but does not verify it in the handshake; whoever shows a foreign or an
expired one gets a Status with code 401. OpenSSL, asked for a certificate, also verifies it, and the `ssl` module
has no switch for one without the other: its only hook is a callback of libssl, set here on the context's SSL_CTX,
which is the first field of CPython's context object. Where that cannot be reached (another Python, a libssl linked
without symbols) OpenSSL's verification stays, and a bad certificate ends in a TLS alert instead.

What must stay true: nobody trusts a certificate because it came through the handshake. `authenticate` verifies
each one against the authority.
"""

import ctypes
import platform
import ssl
from typing import Any, Final

_CALLBACK_TYPE: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_let_through: Final = _CALLBACK_TYPE(lambda _store, _argument: 1)  # lives as long as the contexts that point to it


def let_certificates_through(context: ssl.SSLContext) -> bool:
    """Stop OpenSSL from judging client certificates; False if this Python does not allow it."""
    library = _libssl()
    if library is None:
        return False
    address = ctypes.c_void_p.from_address(id(context) + object.__basicsize__).value
    library.SSL_CTX_set_cert_verify_callback(address, _let_through, None)
    return True


def _libssl() -> Any:
    """The library that the `ssl` module itself uses, found through it."""
    try:
        import _ssl

        library = ctypes.CDLL(_ssl.__file__)
        install = library.SSL_CTX_set_cert_verify_callback
    except (ImportError, AttributeError, OSError):
        return None
    install.argtypes, install.restype = (ctypes.c_void_p, _CALLBACK_TYPE, ctypes.c_void_p), None
    return library if platform.python_implementation() == "CPython" else None
