"""A served kind: its names, its verbs, its rules.

A `Kind` is a row of the server's table of resources. Its `Strategy` holds the rules of the main path; each
`Subresource` may carry the rules of its own update path (``status``, ``resize``, ``approval`` ...). Strategies
hold no state and do no IO: the same object and the same rules give the same answer. What needs to look at other
objects is admission (`contract.admission`).

Order of a create: default, admission.mutate, name, prepare_create, validate, admission.validate, store.
Order of an update: default, admission.mutate, prepare_update, validate_update, admission.validate, store.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from flexlet.api.fielderrors import FieldError

Object = dict[str, Any]

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of the Table form; `priority` 1 shows with ``-o wide`` only."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


class UpdateStrategy:
    """The rules of one update path; the base lets everything through."""

    def prepare_update(self, obj: Object, old: Object) -> None:
        """Put back in `obj` what this path may not change, and count the generation up where due."""

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        """What is wrong with changing `old` into `obj` on this path."""
        del obj, old
        return []

    def warnings_on_update(self, obj: Object, old: Object) -> list[str]:
        """Texts for Warning headers."""
        del obj, old
        return []


class Strategy(UpdateStrategy):
    """The rules of a kind's main path; subclasses override what differs. `old` is never changed."""

    columns: tuple[Column, ...] = (
        Column(name="Name", format="name", description="Name must be unique within a namespace."),
        Column(name="Age", description="CreationTimestamp is a timestamp of the server time."),
    )

    def read(self, obj: Object, *, checked: bool) -> list[str]:
        """Bring a body into the kind's shape, in place; only asked of custom kinds, the others have a schema.

        Gives what strict reading complains about (``unknown field "spec.x"``), if `checked`; raises
        `flexlet.api.schema.Unreadable` for a body that is no object of the kind.
        """
        del obj, checked
        return []

    def default(self, obj: Object) -> None:
        """Fill in, in place, what the API server fills in on decoding (create, update and patch alike)."""

    def prepare_create(self, obj: Object) -> None:
        """Drop what a client may not set (status) and set what the kind starts with (generation, phase)."""

    def validate(self, obj: Object) -> list[FieldError]:
        """What is wrong with a new object; metadata's own rules included (see `kinds.metadata`)."""
        del obj
        return []

    def warnings(self, obj: Object) -> list[str]:
        """Texts for Warning headers on create."""
        del obj
        return []

    def fields(self, obj: Object) -> Mapping[str, str]:
        """Selectable fields besides metadata.name and metadata.namespace, as strings."""
        del obj
        return {}

    def cells(self, obj: Object, now: float) -> list[Any]:
        """The row of the Table form, one cell per column; `now` in seconds since the epoch."""
        raise NotImplementedError

    def row_conditions(self, obj: Object) -> list[Object]:
        """What the Table form says about the row as a whole, such as that it is over."""
        del obj
        return []

    def to_storage(self, obj: Object) -> Object:
        """The object in the form its bucket holds; only asked of kinds that are not the storage version."""
        return obj

    def from_storage(self, obj: Object) -> Object:
        """The stored object in this kind's form; only asked of kinds that are not the storage version."""
        return obj


class Subresource(msgspec.Struct, frozen=True, kw_only=True):
    """A path below an object.

    With `update` it is another way to write the object itself (``status``, ``resize``, ``approval``,
    ``finalize``, ``ephemeralcontainers``). Without, it is served by a handler of its own that the server looks up
    by (group, plural, name): ``binding``, ``eviction``, ``token``, ``scale``, ``log``, ``exec`` ...
    """

    name: str
    verbs: tuple[str, ...]
    update: UpdateStrategy | None = None
    # Only where the body is of another kind than the object: eviction, scale, token, binding.
    group: str = ""
    version: str = ""
    kind: str = ""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One served resource."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    strategy: Strategy
    schema: str | None = None
    """Name in `flexlet.api.schema`; None for custom resources."""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[Subresource, ...] = ()
    unconditional_update: bool = True
    """PUT without resourceVersion overwrites; otherwise it is a 422."""
    create_on_update: bool = False
    """PUT creates what is missing."""
    delete_answers_object: bool = False
    """DELETE answers with the object instead of a Status."""
    stored: bool = True
    """False for reviews: create-only, answered, never stored."""
    bucket: str = ""
    """Storage bucket; events of both groups share one. Empty: derived from group and plural."""
    storage_version: bool = True
    """False where stored bytes are not what is served; see `Strategy.to_storage`."""
    stored_as: str = ""
    """The version that the bucket holds, if it may be another than this one."""
    custom: bool = False
    """Defined by a CustomResourceDefinition: lists carry kind and apiVersion on items, no strategic patch."""
    terminating: bool = False
    """Its definition is on the way out: nothing new is created."""
    deprecation: str = ""
    """A Warning for everybody who uses it."""

    @property
    def api_version(self) -> str:
        """``apps/v1``, or ``v1`` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage_bucket(self) -> str:
        """Where rows of this kind lie."""
        return self.bucket or (f"{self.group}/{self.plural}" if self.group else self.plural)

    def subresource(self, name: str) -> Subresource | None:
        """The subresource of that name, if the kind has it."""
        return next((sub for sub in self.subresources if sub.name == name), None)


def object_key(namespace: str, name: str) -> str:
    """The key inside a bucket: ``ns/name``, or ``name`` for cluster kinds."""
    return f"{namespace}/{name}" if namespace else name
