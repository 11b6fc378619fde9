"""One call on its way through the pipeline, and its answer."""

import msgspec

from flexlet.api import status
from flexlet.apiserver.contract.kind import Kind, Object, object_key
from flexlet.apiserver.contract.request import User, WriteOptions


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """Who wants to do something to what; `warnings` collects texts for the caller."""

    user: User
    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    options: WriteOptions = WriteOptions()
    warnings: list[str] = []
    size: int = 0
    """Bytes of the request's body."""

    @property
    def bucket(self) -> str:
        """Where the object lies."""
        return self.kind.storage_bucket

    @property
    def key(self) -> str:
        """Its key in the bucket."""
        return object_key(self.namespace, self.name)

    def named(self, name: str) -> "Call":
        """The same call on another object."""
        return msgspec.structs.replace(self, name=name)


class Answer(msgspec.Struct, frozen=True):
    """What goes back: finished bytes; `kind` is set when they are an object of it, not a Status."""

    value: bytes
    code: int = 200
    kind: Kind | None = None


def not_found(call: Call) -> status.ApiError:
    """404 for the object the call names."""
    return status.not_found(call.kind.plural, call.kind.group, call.name)


def status_answer(value: status.Status, code: int = 200) -> Answer:
    """An answer that is a Status."""
    return Answer(status.encode(value), code)


def metadata_of(obj: Object) -> Object:
    """The object's metadata; made where there is none."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        metadata = obj["metadata"] = {}
    return metadata
