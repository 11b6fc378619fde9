"""A JSON-like value turned into a type the way a strategic merge patch is: not decoded but converted.

Upstream does not write the merged object out and read it again; it converts the maps, and that code has its own
words (``unrecognized type: string``), its own order (Go's struct order, not the document's) and its own leniency:
whole floats become integers and too large integers wrap. Like `exact` it is asked only when the quick check fails.
Follows ``apimachinery/pkg/runtime/converter.go``.
"""

from typing import Any, Final

from flexlet.api import gotext
from flexlet.api.schema import scalars
from flexlet.api.schema.exact import Decoded, Unreadable, zero
from flexlet.api.schema.types import ListOf, MapOf, Scalar, SchemaOr, Shape, Type
from flexlet.errors import InputError

_BITS: Final = {"int32": 32, "int64": 64}
_GO_KINDS: Final = {"string": "string", "boolean": "bool", "double": "float64", "int32": "int32", "int64": "int64"}


def convert(into: Type, value: dict[str, Any]) -> Decoded:
    """The value with known fields only; complaints are sorted. Unreadable if a value does not fit."""
    unknown: list[str] = []
    result = _struct(into, value, "", unknown)
    return Decoded(result, tuple(f'unknown field "{path}"' for path in sorted(unknown)))


def _value(shape: Shape, value: Any, path: str, unknown: list[str]) -> Any:
    if value is None:
        return zero(shape)
    if isinstance(shape, Scalar):
        return _scalar(shape, value)
    if isinstance(shape, Type):
        return _struct(shape, value, path, unknown)
    if isinstance(shape, ListOf):
        return _list(shape, value, path, unknown)
    if isinstance(shape, MapOf):
        return _map(shape, value, path, unknown)
    return _schema_or(shape, value, path)


def _struct(shape: Type, value: Any, path: str, unknown: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"cannot restore struct from: {gotext.kind(value)}")
    result = {}
    for name, field in shape.fields.items():
        item = value.get(name)
        if item is not None:
            result[name] = _value(field.shape, item, _below(path, name), unknown)
    unknown += [_below(path, name) for name in value if name not in shape.fields]
    return result


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _list(shape: ListOf, value: Any, path: str, unknown: list[str]) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable(f"cannot restore slice from {gotext.kind(value)}")
    return [_value(shape.item, item, f"{path}[{index}]", unknown) for index, item in enumerate(value)]


def _map(shape: MapOf, value: Any, path: str, unknown: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"cannot restore map from {gotext.kind(value)}")
    return {key: _value(shape.value, item, path, unknown) for key, item in value.items()}


def _schema_or(shape: SchemaOr, value: Any, path: str) -> Any:
    if isinstance(value, dict):
        return _struct(shape.schema, value, path, [])
    if isinstance(value, list) and shape.item is not None:
        return [_value(shape.item, item, path, []) for item in value]
    if isinstance(value, bool) and shape.item is None:
        return value
    raise Unreadable("boolean or JSON schema expected")


def _scalar(shape: Scalar, value: Any) -> Any:
    codec = scalars.CODECS.get(shape.name)
    if codec is None:
        return _primitive(shape, value)
    if shape.name == "byte" and not isinstance(value, str):
        raise Unreadable(f"cannot restore slice from {gotext.kind(value)}")
    try:
        return codec.read(value)
    except InputError as fault:
        prefix = "error decoding from json: " if shape.name == "byte" else ""
        raise Unreadable(prefix + fault.message) from None


def _primitive(shape: Scalar, value: Any) -> Any:
    kind = gotext.kind(value)
    if shape.name in _BITS and kind in {"int64", "float64"}:
        return _integer(shape, value)
    if shape.name == "string" and kind == "int64":
        raise Unreadable(f"cannot convert int64 to {shape.go}")
    if kind == _GO_KINDS[shape.name] or (shape.name == "double" and kind == "int64"):
        return value
    raise Unreadable(f"unrecognized type: {_GO_KINDS[shape.name]}")


def _integer(shape: Scalar, value: float) -> int:
    if value != int(value):
        raise Unreadable(f"cannot convert float64 to {shape.go}")
    half = 1 << (_BITS[shape.name] - 1)
    return (int(value) + half) % (2 * half) - half
