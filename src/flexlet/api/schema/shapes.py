"""The quick check: does a body fit its type, with nothing unknown, nothing null, nothing of the wrong kind?

For every type a msgspec Struct is made that refuses unknown fields, so the check runs at C speed (15 µs a pod).
It only says yes or no: a "no" sends the body to `exact` or `converter`, which find the words or find that all is
well after all (null, a quantity written as a float). So the check may be too strict but must never be too lenient.

Quantities, times and base64 pass here as any text; `canonical` reads them, and refuses.
"""

import functools
from typing import Annotated, Any, Final

import msgspec

from flexlet.api.schema import scalars
from flexlet.api.schema.types import Field, ListOf, MapOf, Scalar, SchemaOr, Shape, Type

_INT32: Final = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_INT64: Final = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_PYTHON: Final[dict[str, Any]] = {
    "string": str,
    "boolean": bool,
    "int32": _INT32,
    "int64": _INT64,
    "double": float,
    "byte": str,
    "Quantity": str | int,
    "IntOrString": _INT32 | str,
    "meta.Time": str,
    "meta.MicroTime": str,
    "meta.FieldsV1": dict[str, Any],
    "apiextensions.v1.JSON": Any,
}


def fits(shape: Type, value: Any) -> bool:
    """Whether the value is beyond doubt; False means: look closer."""
    struct = _struct(shape)
    if struct is None:
        return False
    try:
        msgspec.convert(value, struct)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


@functools.cache
def _struct(shape: Type) -> type[msgspec.Struct] | None:
    """The Struct of a type; None for types that contain themselves (JSON schemas), which are rarely written."""
    return None if _contains_schema(shape) else _made(shape)


@functools.cache
def _made(shape: Type) -> type[msgspec.Struct]:
    fields = []
    names = {}
    for index, (name, field) in enumerate(shape.fields.items()):
        names[f"f{index}"] = name
        python = _python(field.shape)
        fields.append((f"f{index}", python | None if _shows_null(field) else python, msgspec.UNSET))
    return msgspec.defstruct(shape.short, fields, rename=names, forbid_unknown_fields=True, gc=False)


def _shows_null(field: Field) -> bool:
    """Whether the server itself writes null for the field when it is not set."""
    shape = field.shape
    if isinstance(shape, Scalar) and not field.pointer:
        return field.kept and scalars.zero(shape.name) is None
    return field.kept and (field.pointer or isinstance(shape, ListOf | MapOf))


def _python(shape: Shape) -> Any:
    if isinstance(shape, Scalar):
        return _PYTHON[shape.name]
    if isinstance(shape, ListOf):
        return list[_python(shape.item)]  # type: ignore[misc]
    if isinstance(shape, MapOf):
        return dict[str, _python(shape.value)]  # type: ignore[misc]
    if isinstance(shape, SchemaOr):
        raise TypeError(shape.go)
    return _made(shape)


def _contains_schema(shape: Shape) -> bool:
    return _reaches_schema(shape, set())


def _reaches_schema(shape: Shape, seen: set[str]) -> bool:
    if isinstance(shape, SchemaOr):
        return True
    if isinstance(shape, ListOf):
        return _reaches_schema(shape.item, seen)
    if isinstance(shape, MapOf):
        return _reaches_schema(shape.value, seen)
    if isinstance(shape, Scalar) or shape.name in seen:
        return False
    seen.add(shape.name)
    return any(_reaches_schema(field.shape, seen) for field in shape.fields.values())
