"""Table and PartialObjectMetadata: the shapes kubectl and the metadata clients ask for instead of objects."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import msgspec

from flexlet.api import status
from flexlet.apiserver.contract.kind import Kind, Object
from flexlet.apiserver.http.accept import Form
from flexlet.apiserver.rest import finished
from flexlet.apiserver.rest.listing import Rows
from flexlet.apiserver.store.splice import watch_line

META: Final = "meta.k8s.io"
TABLE: Final = "Table"
PARTIAL: Final = "PartialObjectMetadata"
PARTIAL_LIST: Final = "PartialObjectMetadataList"
AT_ONCE: Final = 100
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode
INCLUDES: Final = ("", "Metadata", "Object", "None")


class Shape(msgspec.Struct, frozen=True):
    """The wanted shape, what a Table includes of each object, and the time ages are counted from."""

    form: Form
    include: str
    now: float

    @property
    def api_version(self) -> str:
        """The version of the shape."""
        return f"{META}/{self.form.shape_version}"

    def one(self, kind: Kind, value: bytes) -> bytes:
        """A single object in this shape."""
        obj = _decode(value)
        if self.form.shape == PARTIAL_LIST:
            raise _refused(f"you requested {PARTIAL_LIST}, but the requested object is not a list ({_go(kind)})")
        if self.form.shape == PARTIAL:
            return msgspec.json.encode(self._partial(obj))
        metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        return msgspec.json.encode(self._table(kind, metadata, [obj], columns=True))

    async def many(self, rows: Rows) -> bytes:
        """A list in this shape."""
        kind, metadata = rows.kind, finished.list_metadata(rows.revision, rows.continue_, rows.remaining)
        if self.form.shape == PARTIAL:
            raise _refused(f"you requested {PARTIAL}, but the requested object is a list ({_go(kind)}List)")
        if self.form.shape == PARTIAL_LIST:
            items = [self._partial(obj) async for obj in _objects(rows)]
            names = {"kind": PARTIAL_LIST, "apiVersion": self.api_version}
            return msgspec.json.encode({**names, "metadata": metadata, "items": items})
        table = self._table(kind, metadata, [], columns=True)
        table["rows"] = [self._row(kind, obj) async for obj in _objects(rows)]
        return msgspec.json.encode(table)

    def event(self, kind: Kind, event_type: str, value: bytes, *, first: bool) -> bytes:
        """A watch event in this shape; only the first of a stream carries the columns."""
        if event_type == "ERROR":
            return watch_line(event_type, value)
        obj = _decode(value)
        if self.form.shape != TABLE:
            return watch_line(event_type, msgspec.json.encode(self._partial(obj)))
        metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        return watch_line(event_type, msgspec.json.encode(self._table(kind, metadata, [obj], columns=first)))

    def _table(self, kind: Kind, metadata: Any, objects: Sequence[Object], *, columns: bool) -> Object:
        definitions = [msgspec.structs.asdict(column) for column in kind.strategy.columns]
        return {
            "kind": TABLE,
            "apiVersion": self.api_version,
            "metadata": metadata,
            "columnDefinitions": definitions if columns else None,
            "rows": [self._row(kind, obj) for obj in objects],
        }

    def _row(self, kind: Kind, obj: Object) -> Object:
        row: Object = {"cells": kind.strategy.cells(obj, self.now)}
        if conditions := kind.strategy.row_conditions(obj):
            row["conditions"] = conditions
        return {**row, "object": self._included(kind, obj)}

    def _included(self, kind: Kind, obj: Object) -> Object | None:
        if self.include == "Object":
            return {"kind": kind.kind, "apiVersion": kind.api_version, **obj}
        return None if self.include == "None" else self._partial(obj)

    def _partial(self, obj: Object) -> Object:
        return {"kind": PARTIAL, "apiVersion": self.api_version, "metadata": obj["metadata"]}


async def _objects(rows: Rows) -> AsyncIterator[Object]:
    """The objects of a list; every now and then others have their turn."""
    for index, row in enumerate(rows.rows, start=1):
        yield finished.decode(rows.kind, row.value)
        if index % AT_ONCE == 0:
            await asyncio.sleep(0)


def shape_for(form: Form, include: str, now: float) -> Shape | None:
    """The shape a form asks for, if any; a wrong `includeObject` is a 400."""
    if not form.shape:
        return None
    if form.shape == TABLE and include not in INCLUDES:
        detail = "must be 'Metadata', 'Object', 'None', or empty"
        value = msgspec.json.encode(include).decode()
        message = f"Unable to convert to Table as requested: includeObject: Invalid value: {value}: {detail}"
        raise status.bad_request(message)
    return Shape(form, include, now)


def _go(kind: Kind) -> str:
    return f"*{kind.group.partition('.')[0] or 'core'}.{kind.kind}"


def _refused(message: str) -> status.ApiError:
    return status.failure(406, "NotAcceptable", message)
