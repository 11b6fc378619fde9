"""Service-account tokens: what they claim, and whether that still holds.

A token is good while its signature is ours, its time has not run out, and the account and everything else it is
bound to still exist under the same uid. Signatures are remembered, because checking one costs as much as the rest
of a small request; what can change (time, objects) is looked at every time, so a token dies with its account.
Texts are upstream's (``pkg/serviceaccount``).
"""

from typing import Final

import msgspec

from flexlet.api import age
from flexlet.api.gotext import quote
from flexlet.apiserver.auth import jwt
from flexlet.apiserver.auth.certificates import CREDENTIAL_ID
from flexlet.apiserver.auth.credentials import Outcome, Refused, Verified
from flexlet.apiserver.contract.admission import View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import User

LEEWAY_S: Final = 60
REMEMBERED: Final = 4096
NODE_NAME: Final = "authentication.kubernetes.io/node-name"
NODE_UID: Final = "authentication.kubernetes.io/node-uid"
POD_NAME: Final = "authentication.kubernetes.io/pod-name"
POD_UID: Final = "authentication.kubernetes.io/pod-uid"

_INVALIDATED: Final = "service account token has been invalidated"


class Reference(msgspec.Struct, frozen=True, omit_defaults=True):
    """An object a token is bound to."""

    name: str = ""
    uid: str = ""


class Bound(msgspec.Struct, frozen=True, omit_defaults=True):
    """The claim ``kubernetes.io``."""

    namespace: str = ""
    node: Reference | None = None
    pod: Reference | None = None
    secret: Reference | None = None
    serviceaccount: Reference = Reference()
    warnafter: float | None = None


class Claims(msgspec.Struct, frozen=True, omit_defaults=True):
    """The claims of a service-account token."""

    aud: tuple[str, ...] | str = ()
    exp: float = 0
    iat: float = 0
    iss: str = ""
    jti: str = ""
    kubernetes: Bound = msgspec.field(name="kubernetes.io", default=Bound())
    nbf: float = 0
    sub: str = ""

    @property
    def audiences(self) -> tuple[str, ...]:
        """The audiences, whichever of its two forms the claim has."""
        return (self.aud,) if isinstance(self.aud, str) else self.aud


class AccountTokens:
    """Checks tokens of this server's issuer."""

    def __init__(self, issuer: str, keys: jwt.KeyRing, view: View) -> None:
        self._issuer = issuer
        self._keys = keys
        self._view = view
        self._signed: dict[str, Claims] = {}

    def check(self, token: str, audiences: tuple[str, ...], now: float) -> Outcome:
        """The account a token speaks for, towards those of `audiences` it is meant for."""
        claims = self._signed.get(token) or self._claims(token)
        if not isinstance(claims, Claims):
            return claims
        meant = claims.audiences or (self._issuer,)
        shared = tuple(audience for audience in meant if audience in audiences)
        if not shared:
            return Refused(
                f"token audiences {_list(meant)} is invalid for the target audiences {_list(audiences)}"
            )
        refusal = _untimely(claims, now) or self._unbound(claims.kubernetes, now - LEEWAY_S)
        return Refused(refusal) if refusal else Verified(_user(claims), shared)

    def _claims(self, token: str) -> Claims | Refused | None:
        """The claims of a token with a good signature; None for a token of somebody else."""
        parts = jwt.split(token)
        if parts is None or _issuer(parts.payload) != self._issuer:
            return None
        keys = self._keys.candidates(parts.header.kid)
        if not keys:
            return Refused("invalid signature, no keys found")
        if not any(jwt.verifies(key, parts) for key in keys):
            return Refused("go-jose/go-jose: error in cryptographic primitive")
        try:
            claims = msgspec.json.decode(parts.payload, type=Claims)
        except msgspec.MsgspecError:
            return Refused("service account token claims could not be read")
        self._remember(token, claims)
        return claims

    def _remember(self, token: str, claims: Claims) -> None:
        if len(self._signed) >= REMEMBERED:
            del self._signed[next(iter(self._signed))]
        self._signed[token] = claims

    def _unbound(self, bound: Bound, deadline: float) -> str:
        """Why an object the token depends on no longer vouches for it; empty while all do."""
        namespace, account = bound.namespace, bound.serviceaccount
        found = self._view.get("serviceaccounts", namespace, account.name)
        if found is None:
            return f"serviceaccounts {quote(account.name)} not found"
        if _uid(found) != account.uid:
            return f"service account UID ({_uid(found)}) does not match claim ({account.uid})"
        if _gone(found, deadline):
            return f"service account {namespace}/{account.name} has been deleted"
        if bound.secret is not None:
            return self._parted("secrets", namespace, bound.secret, deadline)
        if bound.pod is not None:
            return self._parted("pods", namespace, bound.pod, deadline)
        if bound.node is not None:
            return self._parted("nodes", "", bound.node, deadline)
        return ""

    def _parted(self, bucket: str, namespace: str, reference: Reference, deadline: float) -> str:
        found = self._view.get(bucket, namespace, reference.name)
        if found is None or _gone(found, deadline):
            return _INVALIDATED
        if _uid(found) == reference.uid:
            return ""
        kind = bucket.removesuffix("s")
        return f"{kind} UID ({_uid(found)}) does not match service account {kind} ref claim ({reference.uid})"


def account_groups(namespace: str) -> tuple[str, ...]:
    """The groups every service account of a namespace is in."""
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")


def _user(claims: Claims) -> User:
    bound = claims.kubernetes
    extra: dict[str, tuple[str, ...]] = {}
    if claims.jti:
        extra[CREDENTIAL_ID] = (f"JTI={claims.jti}",)
    if bound.node is not None and bound.node.name:
        extra[NODE_NAME] = (bound.node.name,)
        if bound.node.uid:
            extra[NODE_UID] = (bound.node.uid,)
    if bound.pod is not None:
        extra[POD_NAME], extra[POD_UID] = (bound.pod.name,), (bound.pod.uid,)
    return User(
        name=f"system:serviceaccount:{bound.namespace}:{bound.serviceaccount.name}",
        uid=bound.serviceaccount.uid,
        groups=(*account_groups(bound.namespace), "system:authenticated"),
        extra=extra,
    )


def _untimely(claims: Claims, now: float) -> str:
    if claims.nbf and now + LEEWAY_S < claims.nbf:
        return "service account token is not valid yet"
    if claims.exp and now - LEEWAY_S > claims.exp:
        return "service account token has expired"
    if claims.iat and now + LEEWAY_S < claims.iat:
        return "service account token is issued in the future"
    return ""


class _Issued(msgspec.Struct, frozen=True):
    iss: str = ""


def _issuer(payload: bytes) -> str:
    try:
        return msgspec.json.decode(payload, type=_Issued).iss
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""


def _uid(obj: Object) -> str:
    return str(obj["metadata"].get("uid", ""))


def _gone(obj: Object, deadline: float) -> bool:
    """Whether the object was to be gone before the deadline and only lingers."""
    text = obj["metadata"].get("deletionTimestamp")
    return text is not None and age.parse(text).timestamp() < deadline


def _list(values: tuple[str, ...]) -> str:
    return f"[{' '.join(map(quote, values))}]"
