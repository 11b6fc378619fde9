"""A JSON body read into a type exactly as Go's decoder would read it, complaints included.

The slow, faithful reader: it is asked only when the quick check (`shapes`) does not vouch for a body. It works on
`gojson.parse_pairs` trees, so that repeated keys and the digits of numbers are still there, and follows
``sigs.k8s.io/json``:

- the first wrong type is remembered and the rest still read; a type that reads itself (quantity, time) stops at
  once, and its error wins;
- unknown and repeated fields are listed in document order, each text once, at most a hundred;
- null leaves a struct field unset, but is the empty value inside lists and maps; a repeated object is merged into
  the first one.

An error names the innermost struct and the path of JSON names from the root, with the Go names of embedded structs
in between and without indices or map keys.
"""

from typing import Any, Final

import msgspec

from flexlet.api import gojson, gotext
from flexlet.api.schema import scalars
from flexlet.api.schema.types import Field, ListOf, MapOf, Scalar, SchemaOr, Shape, Type
from flexlet.errors import InputError

MAX_COMPLAINTS: Final = 100


class Unreadable(InputError):
    """The document does not fit the type; `message` is Go's."""


class Decoded(msgspec.Struct, frozen=True):
    """What was read: known fields only, and the complaints of strict reading."""

    value: Any
    complaints: tuple[str, ...] = ()


FREE: Final = Scalar("interface", "interface {}")
"""Any JSON value; unlike the free JSON of the served types, keys repeated inside are complained about."""


class _Unset:
    """Marks a value that is not there."""


_UNSET: Final = _Unset()


def decode(into: Shape, tree: Any) -> Decoded:
    """Read a tree (of Pairs, or of dicts) into a shape; Unreadable if it does not fit."""
    reader = _Reader()
    value = reader.read(into, tree)
    return Decoded(value, tuple(reader.complaints))


def zero(shape: Shape) -> Any:
    """What a list or map holds where a client wrote null."""
    if shape == FREE:
        return None
    if isinstance(shape, Scalar):
        # Bytes go through storage, which does not know null.
        return "" if shape.name == "byte" else scalars.zero(shape.name)
    return {} if isinstance(shape, Type) else None


class _Reader:
    def __init__(self) -> None:
        self.complaints: dict[str, None] = {}
        self.quiet = False
        self.first_fault: str | None = None
        self.owner = ""
        self.names: list[str] = []

    def read(self, into: Shape, tree: Any) -> Any:
        try:
            value = zero(into) if tree is None else self._value(into, tree, "", _UNSET)
        except scalars.WrongKind as fault:
            raise Unreadable(self._described(fault)) from None
        except InputError as fault:
            raise Unreadable(fault.message) from None
        if self.first_fault is not None:
            raise Unreadable(self.first_fault)
        return value

    def _value(self, shape: Shape, node: Any, path: str, old: Any) -> Any:
        if isinstance(shape, Scalar):
            return self._interface(node, path) if shape == FREE else self._scalar(shape, node, old)
        if isinstance(shape, Type):
            return self._struct(shape, node, path, old)
        if isinstance(shape, ListOf):
            return self._list(shape, node, path, old)
        if isinstance(shape, MapOf):
            return self._map(shape, node, path, old)
        return self._schema_or(shape, node, path)

    def _struct(self, shape: Type, node: Any, path: str, old: Any) -> Any:
        if not isinstance(node, gojson.Pairs | dict):
            return self._wrong(node, shape.go)
        result = dict(old) if isinstance(old, dict) else {}
        seen: set[str] = set()
        for key, item in _items(node):
            field = shape.fields.get(key)
            if field is None:
                self._complain("unknown", path, key)
                continue
            if key in seen:
                self._complain("duplicate", path, key)
            seen.add(key)
            value = self._field(shape, field, item, f"{path}.{key}" if path else key, result.get(key, _UNSET))
            if value is _UNSET:
                result.pop(key, None)
            else:
                result[key] = value
        return result

    def _field(self, owner: Type, field: Field, item: Any, path: str, old: Any) -> Any:
        """Read one field with the error context of its place; on a fault the context stays for the message."""
        outer, depth = self.owner, len(self.names)
        self.owner = owner.short
        self.names += [*field.embedded, field.name]
        value = _nulled(field, old) if item is None else self._value(field.shape, item, path, old)
        self.owner = outer
        del self.names[depth:]
        return value

    def _list(self, shape: ListOf, node: Any, path: str, old: Any) -> Any:
        if not isinstance(node, list) or isinstance(node, gojson.Pairs):
            return self._wrong(node, shape.go)
        before = old if isinstance(old, list) else []
        result = []
        for index, item in enumerate(node):
            held = before[index] if index < len(before) else _UNSET
            if item is None:
                result.append(zero(shape.item) if held is _UNSET else held)
            else:
                result.append(self._value(shape.item, item, f"{path}[{index}]", held))
        return result

    def _map(self, shape: MapOf, node: Any, path: str, old: Any) -> Any:
        if not isinstance(node, gojson.Pairs | dict):
            return self._wrong(node, shape.go)
        result = dict(old) if isinstance(old, dict) else {}
        seen: set[str] = set()
        for key, item in _items(node):
            if key in seen:
                self._complain("duplicate", path, key)
            seen.add(key)
            below = f"{path}.{key}" if path else key
            result[key] = zero(shape.value) if item is None else self._value(shape.value, item, below, _UNSET)
        return result

    def _interface(self, node: Any, path: str) -> Any:
        if isinstance(node, gojson.Pairs | dict):
            return self._map(MapOf(FREE, ""), node, path, _UNSET)
        return self._list(ListOf(FREE, ""), node, path, _UNSET) if isinstance(node, list) else scalars.plain(node)

    def _schema_or(self, shape: SchemaOr, node: Any, path: str) -> Any:
        """A schema inside such a union is read by a reader of its own, which is never strict."""
        outer, self.quiet = self.quiet, True
        try:
            if isinstance(node, gojson.Pairs | dict):
                return self._struct(shape.schema, node, path, _UNSET)
            if shape.item is None:
                if isinstance(node, bool):
                    return node
                raise InputError("boolean or JSON schema expected")
            if isinstance(node, list):
                return self._list(ListOf(shape.item, f"[]{shape.item.go}"), node, path, _UNSET)
            return _UNSET
        finally:
            self.quiet = outer

    def _scalar(self, shape: Scalar, node: Any, old: Any) -> Any:
        codec = scalars.CODECS.get(shape.name)
        if codec is not None and shape.name != "byte":
            value = codec.read(node)
            return _UNSET if value is None else value
        try:
            return _primitive(shape, node)
        except scalars.WrongKind as fault:
            self._save(self._described(fault))
        except InputError as fault:
            self._save(fault.message)
        return old

    def _wrong(self, node: Any, wanted: str) -> Any:
        self._save(self._described(scalars.WrongKind(scalars.described(node), wanted)))
        return _UNSET

    def _save(self, fault: str) -> None:
        if self.first_fault is None:
            self.first_fault = fault

    def _described(self, fault: scalars.WrongKind) -> str:
        if not self.names:
            return fault.message
        place = f"Go struct field {self.owner}.{'.'.join(self.names)}"
        return f"json: cannot unmarshal {fault.value} into {place} of type {fault.wanted}"

    def _complain(self, what: str, path: str, key: str) -> None:
        if not self.quiet and len(self.complaints) < MAX_COMPLAINTS:
            self.complaints[f"{what} field {gotext.quote(f'{path}.{key}' if path else key)}"] = None


def _items(node: Any) -> Any:
    return node if isinstance(node, gojson.Pairs) else node.items()


def _nulled(field: Field, old: Any) -> Any:
    """What null makes of a field: pointers, lists and maps are unset, plain values stay as they were."""
    shape = field.shape
    if field.pointer or isinstance(shape, ListOf | MapOf) or old is _UNSET:
        return _UNSET
    if isinstance(shape, Scalar) and shape.name in scalars.CODECS:
        return _UNSET
    return old


def _primitive(shape: Scalar, node: Any) -> Any:
    if shape.name in scalars.INTEGERS:
        return scalars.integer(node, scalars.INTEGERS[shape.name], shape.go)
    if shape.name == "double":
        return scalars.number(node, shape.go)
    if shape.name == "byte":
        return scalars.CODECS["byte"].read(node)
    wanted = bool if shape.name == "boolean" else str
    if not isinstance(node, wanted) or isinstance(node, gojson.Number):
        raise scalars.WrongKind(scalars.described(node), shape.go)
    return node
