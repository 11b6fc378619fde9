"""Reading patch bodies: JSON of the right outer shape, and what strict reading has to say about it.

A patch is not checked against the object's type here; that happens to the patched object. Only keys written twice
are complained about, and in JSON patches fields an operation does not have.
"""

from typing import Any, Final

import msgspec

from flexlet.api import gojson
from flexlet.api.patch.errors import PatchMalformed
from flexlet.api.schema import exact
from flexlet.api.schema.types import MapOf, Shape

_OBJECT: Final = MapOf(exact.FREE, "map[string]interface {}")


class Document(msgspec.Struct, frozen=True):
    """A patch as read, with texts for warnings or a strict error."""

    value: Any
    complaints: tuple[str, ...] = ()


def read_object(body: bytes, prefix: str = "", *, checked: bool = True) -> Document:
    """An object patch; `prefix` comes before the text of what is wrong. null reads as None."""
    value = decoded(body, prefix)
    if value is None or (isinstance(value, dict) and not (checked and gojson.has_repeated_keys(body, value))):
        return Document(value)
    document = examined(_OBJECT, body, prefix)
    return Document(document.value, document.complaints if checked else ())


def decoded(body: bytes, prefix: str) -> Any:
    """The JSON value of a body; PatchMalformed if it is no JSON."""
    try:
        return gojson.decode(body)
    except gojson.SyntaxFault as fault:
        raise PatchMalformed(prefix + fault.message) from None


def examined(shape: Shape, body: bytes, prefix: str) -> Document:
    """The body read slowly into a shape, with complaints; PatchMalformed if it does not fit."""
    try:
        result = exact.decode(shape, gojson.parse_pairs(body))
    except exact.Unreadable as fault:
        raise PatchMalformed(prefix + fault.message) from None
    return Document(result.value, result.complaints)
