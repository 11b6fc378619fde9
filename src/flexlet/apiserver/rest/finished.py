"""Finished bytes: an object is encoded once, with its resourceVersion, and only spliced afterwards.

Built-in objects begin with kind, apiVersion, metadata, as kube-apiserver writes them; the items of a built-in list
go without the first two, so they are cut off while joining (`flexlet.apiserver.store.splice`). Custom resources
are sorted at every level and keep both. What must stay true: every stored value of a kind begins with its
`opening`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from flexlet.api import gonumbers, schema, status
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
MAX_CUSTOM_BYTES: Final = 3 * 512 * 1024
"""What etcd takes; custom resources are JSON there too."""
MAX_BYTES: Final = 2 * MAX_CUSTOM_BYTES
"""Built-in objects are protobuf in etcd, where upstream reckons with half the size of JSON."""
_PLACED: Final = frozenset({"kind", "apiVersion", "metadata", "status"})

_encode: Final = msgspec.json.Encoder().encode
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode
_decode: Final = msgspec.json.Decoder().decode


def decode(kind: Kind, value: bytes) -> Object:
    """A fresh dict of stored bytes, in the kind's own form."""
    obj = cast("Object", _decode(value))
    return obj if kind.storage_version else kind.strategy.from_storage(obj)


def copy(obj: Object) -> Object:
    """A deep copy of a JSON value; quicker than deepcopy by an order of magnitude."""
    return cast("Object", _decode(_encode(obj)))


def encode(kind: Kind, obj: Object, revision: int | None) -> bytes:
    """The object as it is stored; without a revision it has no resourceVersion (dry runs)."""
    metadata = obj["metadata"]
    if revision is None:
        metadata.pop("resourceVersion", None)
    else:
        metadata["resourceVersion"] = str(revision)
    if kind.storage_version:
        return _written(kind, kind.api_version, obj)
    stored = kind.strategy.to_storage({**obj, "kind": kind.kind, "apiVersion": kind.api_version})
    return _written(kind, stored["apiVersion"], stored)


def storable(kind: Kind, obj: Object, revision: int) -> bytes:
    """The object as it is stored, or the 500 that upstream has for one that etcd does not take."""
    value = encode(kind, obj, revision)
    if len(value) > (MAX_CUSTOM_BYTES if kind.custom else MAX_BYTES):
        raise status.failure(500, message="etcdserver: request is too large")
    return value


def shown(kind: Kind, value: bytes) -> bytes:
    """Stored bytes as this kind serves them."""
    return value if kind.storage_version else _written(kind, kind.api_version, decode(kind, value))


def with_revision(kind: Kind, value: bytes, revision: int) -> bytes:
    """A stored state under another resourceVersion, as watchers see an object leave."""
    return encode(kind, decode(kind, value), revision)


def blank(kind: Kind, metadata: Object) -> bytes:
    """An object with metadata only, as bookmarks carry it; built-in kinds show their empty parts."""
    obj = {"metadata": metadata}
    if kind.schema:
        obj = schema.stored_form(schema.named(kind.schema), obj)
    return _written(kind, kind.api_version, obj)


def list_document(
    kind: Kind, rows: Sequence[Row], revision: int, continue_: str = "", remaining: int | None = None
) -> bytes:
    """A whole list from finished rows."""
    if not kind.storage_version:
        rows = [Row(row.key, row.revision, shown(kind, row.value)) for row in rows]
    if kind.custom:
        return _custom_list(kind, rows, list_metadata(revision, continue_, remaining))
    return list_body(list_head(kind, revision, continue_, remaining), rows, opening(kind))


def _custom_list(kind: Kind, rows: Sequence[Row], metadata: Mapping[str, Any]) -> bytes:
    """Sorted like the items; ListMeta says that nothing follows."""
    tail = _encode_sorted({"kind": kind.list_kind, "metadata": {"continue": "", **metadata}})
    return list_body(_encode({"apiVersion": kind.api_version})[:-1] + b",", rows, tail=b"]," + tail[1:] + b"\n")


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
    """What every value of a built-in kind begins with."""
    return opening_of(kind.kind, kind.api_version)


def _written(kind: Kind, api_version: str, obj: Object) -> bytes:
    if kind.custom:
        return gonumbers.encode_sorted({**obj, "kind": kind.kind, "apiVersion": api_version})
    metadata = obj["metadata"]
    ordered: Object = {
        "kind": kind.kind,
        "apiVersion": api_version,
        "metadata": {key: metadata[key] for key in METADATA_ORDER if key in metadata},
    }
    for key, value in obj.items():
        if key not in _PLACED:
            ordered[key] = value
    if "status" in obj:
        ordered["status"] = obj["status"]
    return _encode(ordered)
