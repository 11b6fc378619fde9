"""Who asks: a client certificate, else a bearer token, else nobody in particular if that is allowed.

Follows the kubelet: bad credentials are never taken for none, so a wrong token is refused even where strangers may
come in. What a token review said, either way, is remembered for two minutes; tokens themselves are not kept.
"""

import hashlib
import logging
from typing import Final

import msgspec

from flexlet.adapters.nodeserver.expiring import Expiring
from flexlet.adapters.nodeserver.peer import Certificate, Peer
from flexlet.adapters.nodeserver.reviews import Caller, Reviews
from flexlet.adapters.nodeserver.wire import Request
from flexlet.errors import FlexletError
from flexlet.ports.clock import Clock

AUTHENTICATED: Final = "system:authenticated"
ANONYMOUS: Final = Caller(name="system:anonymous", groups=("system:unauthenticated",))
CREDENTIAL_ID: Final = "authentication.kubernetes.io/credential-id"
TOKEN_S: Final = 120.0

_log: Final = logging.getLogger(__name__)


class Authenticator:
    """Names the caller of a request."""

    def __init__(
        self,
        reviews: Reviews | None,
        clock: Clock,
        *,
        allows_anonymous: bool = False,
        token_s: float = TOKEN_S,
    ) -> None:
        self._reviews = reviews
        self._allows_anonymous = allows_anonymous
        self._token_s = token_s
        self._known: Expiring[bytes, Caller | bool] = Expiring(clock)

    async def identify(self, request: Request, peer: Peer) -> Caller | None:
        """Who it is; None if the request is to be refused."""
        if peer.certificate is not None:
            caller = _of_certificate(peer.certificate)
            if caller is not None:
                return caller
        token = _bearer(request)
        if token and self._reviews is not None:
            return await self._of_token(token, self._reviews)
        return ANONYMOUS if self._allows_anonymous else None

    async def _of_token(self, token: str, reviews: Reviews) -> Caller | None:
        key = hashlib.sha256(token.encode("latin-1", "replace")).digest()
        known = self._known.get(key)
        if known is None:
            try:
                known = await reviews.whose_token(token) or False
            except FlexletError as error:
                _log.warning("cannot review a token, the request is refused: %s", error)
                return None
            self._known.put(key, known, self._token_s)
        return _authenticated(known) if isinstance(known, Caller) else None


def _of_certificate(certificate: Certificate) -> Caller | None:
    """The user is the common name, the groups are the organizations; more than one uid is no identity."""
    if not certificate.common_name or len(certificate.uids) > 1:
        return None
    caller = Caller(
        name=certificate.common_name,
        uid=certificate.uids[0] if certificate.uids else "",
        groups=certificate.organizations,
        extra={CREDENTIAL_ID: (f"X509SHA256={certificate.sha256}",)},
    )
    return _authenticated(caller)


def _authenticated(caller: Caller) -> Caller:
    if AUTHENTICATED in caller.groups:
        return caller
    return msgspec.structs.replace(caller, groups=(*caller.groups, AUTHENTICATED))


def _bearer(request: Request) -> str:
    scheme, _, token = request.value("authorization").strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
