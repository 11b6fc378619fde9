"""Request bodies into objects: checked, pruned, in their stored form.

The ways in, one for each way upstream has:

- `read` for the bytes of a create or update;
- `read_value` for values without bytes of their own: YAML bodies, results of JSON and merge patches;
- `convert` for results of strategic merge patches, whose faults have other words;
- `stored_form` for objects known to be right (protobuf bodies, objects built here).

Each answers with the object (known fields only, nulls resolved, quantities and times canonical) and the complaints
that ``fieldValidation`` is about: ``unknown field "spec.foo"``, ``duplicate field "data.a"``. Whether these are
warnings or an error is the caller's decision; without `checked` there are none.
"""

from collections.abc import Callable
from typing import Any

from flexlet.api import gojson
from flexlet.api.schema import canonical, converter, exact, shapes
from flexlet.api.schema.exact import Decoded, Unreadable
from flexlet.api.schema.types import Type
from flexlet.errors import InputError


def read(into: Type, body: bytes, *, checked: bool = True) -> Decoded:
    """Read a JSON body; gojson.SyntaxFault if it is no JSON, Unreadable if it does not fit."""
    value = gojson.decode(body)
    quick = _quick(into, value)
    if quick is not None and not (checked and gojson.has_repeated_keys(body, value)):
        return Decoded(quick)
    return _slow(into, checked, lambda: exact.decode(into, gojson.parse_pairs(body)))


def read_value(into: Type, value: Any, *, checked: bool = True) -> Decoded:
    """Read a decoded value; Unreadable if it does not fit."""
    quick = _quick(into, value)
    return Decoded(quick) if quick is not None else _slow(into, checked, lambda: exact.decode(into, value))


def convert(into: Type, value: dict[str, Any], *, checked: bool = True) -> Decoded:
    """Take the result of a strategic merge; Unreadable if it does not fit."""
    quick = _quick(into, value)
    return Decoded(quick) if quick is not None else _slow(into, checked, lambda: converter.convert(into, value))


def stored_form(into: Type, value: dict[str, Any]) -> dict[str, Any]:
    """The value as it is stored and shown; it must fit the type."""
    result: dict[str, Any] = canonical.rule_of(into)(value)
    return result


def _quick(into: Type, value: Any) -> dict[str, Any] | None:
    """The object if the quick check vouches for it."""
    if not shapes.fits(into, value):
        return None
    try:
        return stored_form(into, value)
    except InputError:
        return None


def _slow(into: Type, checked: bool, decode: Callable[[], Decoded]) -> Decoded:
    try:
        decoded = decode()
        return Decoded(stored_form(into, decoded.value), decoded.complaints if checked else ())
    except RecursionError:
        raise Unreadable("exceeded max depth") from None
