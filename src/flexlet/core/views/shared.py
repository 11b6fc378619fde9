"""Parts that thousands of objects have in common, decoded once and held once.

The pods of one ReplicaSet carry the same labels, owner and tolerations, byte for byte. So these parts stay raw
while an object is decoded, and their bytes are the key to a value that is already there.
"""

from functools import lru_cache
from typing import Final

import msgspec

from flexlet.api import selectors
from flexlet.api.meta import OwnerReference
from flexlet.api.pod import Toleration
from flexlet.api.selectors import LabelSelector

ABSENT: Final = msgspec.Raw(b"")

_owners_decoder: Final = msgspec.json.Decoder(tuple[OwnerReference, ...] | None)
_labels_decoder: Final = msgspec.json.Decoder(dict[str, str] | None)
_tolerations_decoder: Final = msgspec.json.Decoder(tuple[Toleration, ...] | None)


@lru_cache(maxsize=4096)
def owners(raw: bytes) -> tuple[OwnerReference, ...]:
    """The ownerReferences."""
    return (_owners_decoder.decode(raw) if raw else None) or ()


@lru_cache(maxsize=4096)
def labels(raw: bytes) -> dict[str, str]:
    """The labels; shared, so nobody may change them."""
    return annotations(raw)


def annotations(raw: bytes) -> dict[str, str]:
    """The annotations, which may be long and are rarely alike."""
    return (_labels_decoder.decode(raw) if raw else None) or {}


@lru_cache(maxsize=1024)
def tolerations(raw: bytes) -> tuple[Toleration, ...]:
    """The tolerations."""
    return (_tolerations_decoder.decode(raw) if raw else None) or ()


@lru_cache(maxsize=1024)
def selector(raw: bytes) -> LabelSelector:
    """A LabelSelector object, ready to match; one that cannot be read selects nothing."""
    try:
        return selectors.from_object(msgspec.json.decode(raw) if raw else None)
    except selectors.SelectorFault:
        return selectors.NOTHING


@lru_cache(maxsize=1024)
def template(raw: bytes) -> bytes:
    """A pod template, still as JSON."""
    return raw
