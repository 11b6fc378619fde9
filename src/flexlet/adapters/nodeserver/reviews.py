"""Asking the API server who a token belongs to and what a user may do.

Requests that fail because the server is busy or away are repeated a few times; what still fails is an ApiError.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from flexlet.api import decode
from flexlet.api.status import ApiError
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref

TOKEN_REVIEWS: Final = Ref("authentication.k8s.io", "v1", "tokenreviews")
ACCESS_REVIEWS: Final = Ref("authorization.k8s.io", "v1", "subjectaccessreviews")
FIRST_WAIT_S: Final = 0.5
WAIT_FACTOR: Final = 1.5
TRIES: Final = 5


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who is known."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = {}


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = {}


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _User = msgspec.field(default_factory=_User)
    error: str = ""


class _TokenReview(msgspec.Struct):
    status: _TokenStatus = msgspec.field(default_factory=_TokenStatus)


class _AccessStatus(msgspec.Struct):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessStatus = msgspec.field(default_factory=_AccessStatus)


class Reviews:
    """The two questions a node asks about a request."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock

    async def whose_token(self, token: str) -> Caller | None:
        """The user a bearer token stands for; None if for nobody."""
        answer = await self._review(TOKEN_REVIEWS, "TokenReview", {"token": token})
        status = decode.from_json(answer, _TokenReview).status
        if not status.authenticated:
            return None
        user = status.user
        return Caller(name=user.username, uid=user.uid, groups=user.groups, extra=user.extra)

    async def may(self, caller: Caller, attributes: Mapping[str, str]) -> bool:
        """Whether the caller may do what the attributes say."""
        spec = {
            "user": caller.name,
            "groups": list(caller.groups),
            "uid": caller.uid,
            "extra": {key: list(values) for key, values in caller.extra.items()},
            "resourceAttributes": dict(attributes),
        }
        asked = {key: value for key, value in spec.items() if value}
        answer = await self._review(ACCESS_REVIEWS, "SubjectAccessReview", asked)
        return decode.from_json(answer, _AccessReview).status.allowed

    async def _review(self, ref: Ref, kind: str, spec: dict[str, Any]) -> bytes:
        body = {"apiVersion": f"{ref.group}/{ref.version}", "kind": kind, "metadata": {}, "spec": spec}
        wait = FIRST_WAIT_S
        for left in reversed(range(TRIES)):
            try:
                return await self._cluster.create(ref, "", body)
            except ApiError as error:
                if not left or (error.code != 429 and error.code < 500):
                    raise
            await self._clock.sleep(wait)
            wait *= WAIT_FACTOR
        raise AssertionError("the last try returns or raises")
