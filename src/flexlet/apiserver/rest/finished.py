"""Finished bytes: an object is encoded once, with its resourceVersion, and only spliced afterwards.

Built-in objects begin with kind, apiVersion, metadata, as kube-apiserver writes them; the items of a built-in list
go without the first two, so they are cut off while joining (`flexlet.apiserver.store.splice`). Custom resources
are sorted at every level and keep both. What must stay true: every stored value of a kind begins with its
`opening`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.store.rows import Row
from flexlet.apiserver.store.splice import list_body, opening_of

METADATA_ORDER: Final = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)

_encode: Final = msgspec.json.Encoder().encode
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode
_decode: Final = msgspec.json.Decoder().decode


def decode(value: bytes) -> Object:
    """A fresh dict of stored bytes."""
    return cast("Object", _decode(value))


def copy(obj: Object) -> Object:
    """A deep copy of a JSON value; quicker than deepcopy by an order of magnitude."""
    return cast("Object", _decode(_encode(obj)))


def encode(kind: Kind, obj: Object, revision: int | None) -> bytes:
    """The object as it is stored and served; without a revision it has no resourceVersion (dry runs)."""
    metadata = obj["metadata"]
    if revision is None:
        metadata.pop("resourceVersion", None)
    else:
        metadata["resourceVersion"] = str(revision)
    if kind.custom:
        return _encode_sorted({**obj, "kind": kind.kind, "apiVersion": kind.api_version})
    return _encode(_in_order(kind, obj))


def with_revision(kind: Kind, value: bytes, revision: int) -> bytes:
    """The same state under another resourceVersion, as watchers see an object leave."""
    return encode(kind, decode(value), revision)


def list_document(
    kind: Kind, rows: Sequence[Row], revision: int, continue_: str = "", remaining: int | None = None
) -> bytes:
    """A whole list from finished rows."""
    head = list_head(kind, revision, continue_, remaining)
    return list_body(head, rows) if kind.custom else list_body(head, rows, opening(kind))


def list_head(kind: Kind, revision: int, continue_: str = "", remaining: int | None = None) -> bytes:
    """Everything of a list before its items."""
    names = {"kind": kind.list_kind or f"{kind.kind}List", "apiVersion": kind.api_version}
    head = _encode({**names, "metadata": list_metadata(revision, continue_, remaining)})
    return head[:-1] + b","


def list_metadata(revision: int, continue_: str = "", remaining: int | None = None) -> Mapping[str, Any]:
    """ListMeta as it travels: what is unset is absent."""
    metadata: dict[str, Any] = {"resourceVersion": str(revision)}
    if continue_:
        metadata["continue"] = continue_
        if remaining:
            metadata["remainingItemCount"] = remaining
    return metadata


def opening(kind: Kind) -> bytes:
    """What every stored value of a built-in kind begins with."""
    return opening_of(kind.kind, kind.api_version)


def _in_order(kind: Kind, obj: Object) -> Object:
    metadata = obj["metadata"]
    ordered: Object = {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "metadata": {key: metadata[key] for key in METADATA_ORDER if key in metadata},
    }
    for key, value in obj.items():
        if key not in {"kind", "apiVersion", "metadata", "status"}:
            ordered[key] = value
    if "status" in obj:
        ordered["status"] = obj["status"]
    return ordered
