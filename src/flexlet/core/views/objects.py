"""What is common to views of all kinds: who an object is, whom it belongs to, and whether it is going away."""

from collections.abc import Callable
from sys import intern
from typing import Any, Final

import msgspec

from flexlet.api.meta import KubeStruct, OwnerReference
from flexlet.api.selectors import NOTHING, LabelSelector
from flexlet.core.views import shared


class ObjectView(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An object's identity, owners and finalizers."""

    uid: str
    namespace: str = ""
    name: str
    owners: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    deleted_at: str = ""
    """The deletionTimestamp, empty unless the object is going away."""

    @property
    def key(self) -> str:
        """``namespace/name``, or the name of an object without a namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def deleting(self) -> bool:
        """Whether deletion has begun."""
        return bool(self.deleted_at)

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that manages the object."""
        return next((owner for owner in self.owners if owner.controller), None)


class OwnerView(ObjectView, frozen=True, kw_only=True, gc=False):
    """An object that has others: those that name it as their controller, and orphans that its selector matches."""

    generation: int = 0
    selector: LabelSelector = NOTHING


Viewer = Callable[[bytes], tuple[ObjectView, int]]
"""Decodes an object's JSON into a view and its revision."""


class Meta(KubeStruct, frozen=True, kw_only=True):
    """The metadata that views are made of, with the common parts still raw."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: msgspec.Raw = shared.ABSENT
    annotations: msgspec.Raw = shared.ABSENT
    finalizers: tuple[str, ...] | None = ()
    owner_references: msgspec.Raw = shared.ABSENT


class _Envelope(msgspec.Struct, frozen=True):
    metadata: Meta = Meta()


_decoder: Final = msgspec.json.Decoder(_Envelope)


def view(raw: bytes) -> tuple[ObjectView, int]:
    """The view of an object of any kind."""
    meta = _decoder.decode(raw).metadata
    return ObjectView(**identity(meta)), revision(meta.resource_version)


def identity(meta: Meta) -> dict[str, Any]:
    """The fields of ObjectView, for views of single kinds."""
    return {
        "uid": meta.uid,
        "namespace": intern(meta.namespace),
        "name": meta.name,
        "owners": shared.owners(bytes(meta.owner_references)),
        "finalizers": meta.finalizers or (),
        "deleted_at": meta.deletion_timestamp or "",
    }


def revision(resource_version: str) -> int:
    """The resourceVersion as a number; 0 for a server whose versions are none."""
    return int(resource_version) if resource_version.isdecimal() else 0
