"""What became of a request, as its status tells."""

from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from flexlet.api import decode
from flexlet.api.meta import Condition, KubeStruct, ObjectMeta

_REFUSALS: Final = {"Denied": "is denied", "Failed": "failed"}


class Issued(msgspec.Struct, frozen=True):
    """Signed: here it is, as PEM."""

    certificate: bytes


class Refused(msgspec.Struct, frozen=True):
    """It will not be signed any more."""

    why: str


class Pending(msgspec.Struct, frozen=True):
    """Nobody has decided yet, or the signer is at work."""


Answer = Issued | Refused | Pending


class _Status(KubeStruct, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    certificate: str = ""


class _Request(KubeStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    status: _Status = _Status()


def identity(raw: bytes) -> tuple[str, str]:
    """Name and uid of a request as the server stored it."""
    metadata = decode.from_json(raw, _Request).metadata
    return metadata.name, metadata.uid


def answer(raw: bytes, name: str, uid: str) -> Answer:
    """What an object of the collection says about the request of that name."""
    request = decode.from_json(raw, _Request)
    if request.metadata.name != name:
        return Pending()
    if request.metadata.uid != uid:
        return Refused(f"somebody replaced the request {name}")
    refused = next(_refusals(request.status.conditions), None)
    if refused is not None:
        return refused
    approved = any(condition.type == "Approved" for condition in request.status.conditions)
    if approved and request.status.certificate:
        return Issued(b64decode(request.status.certificate))
    return Pending()


def _refusals(conditions: Iterable[Condition]) -> Iterator[Refused]:
    for condition in conditions:
        if condition.type in _REFUSALS:
            text = f"the request {_REFUSALS[condition.type]}: {condition.reason}: {condition.message}"
            yield Refused(text.rstrip(": "))
