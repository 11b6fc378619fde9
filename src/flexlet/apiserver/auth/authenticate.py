"""From a connection to a user: client certificate first, then bearer token, then nobody.

On the path of every request, so verified certificates are remembered; only their time is looked at again, since
connections outlive certificates. TLS proves that the caller has the certificate's key; that the certificate is
ours and a client's is verified here, and nowhere else. Whoever shows a credential that is not good gets 401 and is
never taken for an anonymous caller.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cryptography import x509

from flexlet.api import status
from flexlet.apiserver.auth import certificates
from flexlet.apiserver.auth.certificates import Identity
from flexlet.apiserver.auth.credentials import Outcome, Refused, TokenChecker, Verified
from flexlet.apiserver.contract.request import ANONYMOUS, User

REMEMBERED: Final = 4096
INVALID_TOKEN: Final = "invalid bearer token"  # noqa: S105  a message, not a secret


class Authenticator:
    """Knows the callers of one server."""

    def __init__(
        self,
        authority: x509.Certificate,
        checkers: Sequence[TokenChecker],
        audiences: tuple[str, ...],
        now: Callable[[], float],
    ) -> None:
        self._authority = authority
        self._checkers = tuple(checkers)
        self._now = now
        self._identities: dict[bytes, Identity | None] = {}
        self.audiences = audiences
        """What this server answers to; tokens for others are refused here."""

    def authenticate(self, peer_certificate: bytes | None, headers: Mapping[str, str]) -> User:
        """The caller behind a certificate (DER) and headers with case-insensitive names.

        Raises:
            Unauthorized: a credential was shown and is not good.
        """
        identity = None if peer_certificate is None else self._identity(peer_certificate)
        if identity is not None and identity.begins <= self._now() <= identity.ends:
            return identity.user
        token = bearer_token(headers.get("Authorization", ""))
        if token:
            outcome = self.check_token(token, self.audiences)
            if isinstance(outcome, Verified):
                return outcome.user
        if token or identity is not None:
            raise unauthorized()
        return ANONYMOUS

    def check_token(self, token: str, audiences: tuple[str, ...]) -> Verified | Refused:
        """Whose token it is; a refusal carries the text a TokenReview shows."""
        refusals: list[str] = []
        now = self._now()
        for checker in self._checkers:
            outcome: Outcome = checker.check(token, audiences, now)
            if isinstance(outcome, Verified):
                return outcome
            if outcome is not None:
                refusals.append(outcome.reason)
        if not refusals:
            return Refused(INVALID_TOKEN)
        return Refused(f"[{', '.join((INVALID_TOKEN, *refusals))}]")

    def _identity(self, der: bytes) -> Identity | None:
        try:
            return self._identities[der]
        except KeyError:
            if len(self._identities) >= REMEMBERED:
                del self._identities[next(iter(self._identities))]
            identity = self._identities[der] = certificates.identity(self._authority, der)
            return identity


def bearer_token(authorization: str) -> str:
    """The token of an Authorization header, empty where it carries none."""
    scheme, _, rest = authorization.strip().partition(" ")
    return rest.split(" ")[0] if scheme.lower() == "bearer" else ""


def unauthorized() -> status.ApiError:
    """401, which says no more than that."""
    return status.failure(401, "Unauthorized", "Unauthorized")
