"""What a check of a bearer token can come to: good, refused with a reason, or not one of this kind.

Each kind of token has a checker; `authenticate` asks them in turn. Refusals are values: the request's answer is
401 without a reason, but a TokenReview shows it.
"""

from typing import Protocol, TypeAlias

import msgspec

from flexlet.apiserver.contract.request import User


class Verified(msgspec.Struct, frozen=True):
    """The token is good for `user` towards `audiences`."""

    user: User
    audiences: tuple[str, ...]


class Refused(msgspec.Struct, frozen=True):
    """The token is of this kind and not good."""

    reason: str


Outcome: TypeAlias = Verified | Refused | None


class TokenChecker(Protocol):
    """Checks one kind of bearer token."""

    def check(self, token: str, audiences: tuple[str, ...], now: float) -> Outcome:
        """Whose token this is, if it is of this kind; `audiences` are those the asker stands for."""
        ...


class StaticTokens:
    """Tokens fixed at start, such as the administrator's."""

    def __init__(self, users: dict[str, User], audiences: tuple[str, ...]) -> None:
        self._users = {token.encode(): user for token, user in users.items()}
        self._audiences = audiences

    def check(self, token: str, audiences: tuple[str, ...], now: float) -> Outcome:
        """The user of a fixed token; these know no audience of their own, so they serve the server's."""
        del now
        # Dictionary lookup compares hashes keyed per process: timing tells nothing about the token.
        user = self._users.get(token.encode())
        return agnostic(user, self._audiences, audiences)


def agnostic(user: User | None, own: tuple[str, ...], asked: tuple[str, ...]) -> Verified | None:
    """A token without audiences counts as one for the server's own."""
    shared = tuple(audience for audience in own if audience in asked)
    return Verified(user, shared) if user is not None and shared else None
