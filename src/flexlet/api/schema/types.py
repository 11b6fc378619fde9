"""The types of the served kinds: fields, shapes, merge keys, protobuf numbers, Go's names for them.

Loaded once from ``types.json`` on first use (10 ms). The file holds facts about Kubernetes 1.36.3 taken from its
OpenAPI, ``generated.proto`` and Go struct tags; `about` in it explains the keys. A shape is a Scalar, a ListOf, a
MapOf, a SchemaOr or a Type; `go` is how Go's reflection prints it, which error messages show.
"""

import functools
import importlib.resources
from collections.abc import Mapping
from typing import Any, Final

import msgspec

Raw = dict[str, Any]

_GO_SCALARS: Final = {
    "string": "string",
    "int32": "int32",
    "int64": "int64",
    "boolean": "bool",
    "double": "float64",
    "byte": "[]uint8",
    "bytes": "[]uint8",
    "Quantity": "resource.Quantity",
    "IntOrString": "intstr.IntOrString",
    "interface": "interface {}",
}


class Scalar(msgspec.Struct, frozen=True):
    """A JSON scalar, or a type with its own way to be read (`schema.scalars` knows them by `name`)."""

    name: str
    go: str


class ListOf(msgspec.Struct, frozen=True):
    """A JSON array of one shape."""

    item: "Shape"
    go: str


class MapOf(msgspec.Struct, frozen=True):
    """A JSON object with free keys and values of one shape."""

    value: "Shape"
    go: str


class SchemaOr(msgspec.Struct, frozen=True):
    """A JSON schema or something else: a list, or a boolean where `item` is None."""

    schema: "Type"
    item: "Shape | None"
    go: str


class Field:
    """One field of a type; the names of its attributes are those of ``types.json``, spelled out."""

    __slots__ = (
        "embedded",
        "inline",
        "kept",
        "merge_key",
        "name",
        "number",
        "pointer",
        "proto_only",
        "raw",
        "retain_keys",
        "shape",
        "strategy",
    )

    def __init__(self, name: str, raw: Raw, shape: "Shape") -> None:
        strategies = raw.get("smp", "").split(",")
        self.name = name
        self.raw = raw
        self.shape = shape
        self.number: int = raw.get("pb", 0)
        self.pointer: bool = raw.get("ptr", False)
        self.kept: bool = raw.get("keep", False)
        self.embedded: tuple[str, ...] = tuple(raw["in"].split(".")) if "in" in raw else ()
        self.strategy = next((word for word in strategies if word and word != "retainKeys"), "")
        self.retain_keys = "retainKeys" in strategies
        self.merge_key: str = raw.get("smpKey", "")
        self.proto_only: bool = raw.get("protoOnly", False)
        self.inline: bool = raw.get("inlineInJson", False)


class Type:
    """A struct: named fields, in Go's order."""

    def __init__(self, name: str, raw: Raw) -> None:
        self.name = name
        self.short = name.rsplit(".", 1)[-1]
        self.go: str = raw.get("go", f"v1.{self.short}")
        self.raw = raw

    def __repr__(self) -> str:
        return f"Type({self.name!r})"

    @functools.cached_property
    def all_fields(self) -> Mapping[str, Field]:
        """Every field, those that exist only in protobuf included."""
        return {
            name: Field(name, raw, _shape(raw["t"], raw.get("go"))) for name, raw in self.raw["fields"].items()
        }

    @functools.cached_property
    def fields(self) -> Mapping[str, Field]:
        """The fields of the JSON form by name."""
        return {name: field for name, field in self.all_fields.items() if not field.proto_only}

    @functools.cached_property
    def numbers(self) -> Mapping[int, Field]:
        """The fields of the protobuf form by number."""
        return {field.number: field for field in self.all_fields.values() if field.number}


Shape = Scalar | ListOf | MapOf | SchemaOr | Type


def type_for(group: str, version: str, kind: str) -> Type | None:
    """The type of a built-in kind, or None."""
    return _kinds().get((group, version, kind))


def named(name: str) -> Type:
    """The type of that name (``core.v1.Pod``); KeyError if there is none."""
    return _types()[name]


def _shape(raw: Any, go: str | None = None) -> Shape:
    if isinstance(raw, list):
        inner = _shape(raw[1], _element(go))
        return (
            ListOf(inner, go or f"[]{inner.go}")
            if raw[0] == "list"
            else MapOf(inner, go or f"map[string]{inner.go}")
        )
    if raw in _GO_SCALARS:
        return Scalar(raw, go or _GO_SCALARS[raw])
    found = _types()[raw]
    if "JSONSchemaPropsOr" in raw:
        return _schema_or(found)
    return Scalar(raw, found.go) if "json" in found.raw and raw != _EMPTY_OBJECT else found


# The one type that is only an object to OpenAPI and a struct without fields in Go.
_EMPTY_OBJECT: Final = "apiextensions.v1.CustomResourceSubresourceStatus"


def _schema_or(union: Type) -> SchemaOr:
    schema = _types()["apiextensions.v1.JSONSchemaProps"]
    items: dict[str, Shape] = {"JSONSchemaPropsOrArray": schema, "JSONSchemaPropsOrStringArray": _shape("string")}
    return SchemaOr(schema, items.get(union.short), union.go)


def _element(go: str | None) -> str | None:
    """The element's Go type where the container's spells it out (``[]v1.Capability``)."""
    if go is None or go[0] == "v":
        return None
    return go[go.index("]") + 1 :]


@functools.cache
def _types() -> dict[str, Type]:
    text = importlib.resources.files("flexlet.api.schema").joinpath("types.json").read_bytes()
    return {name: Type(name, raw) for name, raw in msgspec.json.decode(text)["types"].items()}


@functools.cache
def _kinds() -> dict[tuple[str, str, str], Type]:
    named = ((found.raw["gvk"], found) for found in _types().values() if "gvk" in found.raw)
    return {(gvk["group"], gvk["version"], gvk["kind"]): found for gvk, found in named}
