"""Bootstrap tokens: the ``abcdef.0123456789abcdef`` a new node joins with.

The secret half lies in a Secret of kube-system named after the public half. Anything wrong with it means "not a
bootstrap token", as upstream has it, so that a guess learns nothing.
"""

import binascii
import hmac
import re
from base64 import b64decode
from typing import Final

from flexlet.api import age
from flexlet.apiserver.auth.credentials import Outcome, agnostic
from flexlet.apiserver.contract.admission import View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import User
from flexlet.errors import InputError

_TOKEN: Final = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP: Final = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
_TYPE: Final = "bootstrap.kubernetes.io/token"


class BootstrapTokens:
    """Checks tokens against the Secrets of kube-system."""

    def __init__(self, view: View, audiences: tuple[str, ...]) -> None:
        self._view = view
        self._audiences = audiences

    def check(self, token: str, audiences: tuple[str, ...], now: float) -> Outcome:
        """The bootstrap identity of a token whose Secret agrees with it."""
        match = _TOKEN.fullmatch(token)
        if match is None:
            return None
        secret = self._view.get("secrets", "kube-system", f"bootstrap-token-{match[1]}")
        user = None if secret is None else _user(secret, match[1], match[2], now)
        return agnostic(user, self._audiences, audiences)


def _user(secret: Object, token_id: str, token_secret: str, now: float) -> User | None:
    data = secret.get("data") or {}
    good = (
        secret.get("type") == _TYPE
        and "deletionTimestamp" not in secret["metadata"]
        and hmac.compare_digest(_text(data, "token-secret").encode(), token_secret.encode())
        and _text(data, "token-id") == token_id
        and _text(data, "usage-bootstrap-authentication") == "true"
        and not _expired(_text(data, "expiration"), now)
    )
    groups = _groups(_text(data, "auth-extra-groups")) if good else None
    if groups is None:
        return None
    return User(name=f"system:bootstrap:{token_id}", groups=(*groups, "system:authenticated"))


def _groups(extra: str) -> list[str] | None:
    """The groups in order, None where one of them is not a bootstrap group."""
    named = extra.split(",") if extra else []
    if not all(_GROUP.fullmatch(group) for group in named):
        return None
    return sorted({"system:bootstrappers", *named})


def _expired(expiration: str, now: float) -> bool:
    try:
        return bool(expiration) and age.parse(expiration).timestamp() < now
    except InputError:
        return True  # better a node that does not join than a token for ever


def _text(data: dict[str, str], key: str) -> str:
    try:
        return b64decode(data.get(key) or "", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
