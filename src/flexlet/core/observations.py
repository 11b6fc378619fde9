"""What can be learned from a Kubernetes API: an object as it is, that it is gone, or that a deed was refused."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from flexlet.core.actions import ApiAction, Ref
from flexlet.core.views.objects import ObjectView


class Seen(msgspec.Struct, frozen=True, tag=True):
    """An object was added or changed; `raw` is its JSON."""

    ref: Ref
    raw: bytes
    revision: int = 0
    """Its resourceVersion as a number, 0 if unknown."""
    view: ObjectView | None = None
    """What was decoded of it, once for all who are told."""


class Vanished(msgspec.Struct, frozen=True, tag=True):
    """An object was deleted."""

    ref: Ref
    namespace: str
    name: str
    uid: str


class Absent(msgspec.Struct, frozen=True, tag=True):
    """A look-up found no object of that name."""

    ref: Ref
    namespace: str
    name: str


class Failed(msgspec.Struct, frozen=True, tag=True):
    """An action was refused; `code` and `reason` are the Status', `message` is for people."""

    action: ApiAction
    code: int
    reason: str
    message: str


Observation = Seen | Vanished | Absent | Failed


V = TypeVar("V", bound=ObjectView)


def view_of(seen: Seen, kind: type[V], viewer: Callable[[bytes], tuple[V, int]]) -> V:
    """The shared view if it is of the wanted kind; answers to one's own writes are decoded here."""
    return seen.view if isinstance(seen.view, kind) else viewer(seen.raw)[0]
