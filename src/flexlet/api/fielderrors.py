"""Field errors as values: what a validator found, in upstream's words.

A validator returns a list of these; `flexlet.api.status.invalid` turns the list into the 422 Status. The message
quotes the value as JSON does, the way kubectl users know it (``Invalid value: "x": must be ...``).
"""

from typing import Any, Final

import msgspec

from flexlet.api import gotext
from flexlet.api.quantity import Quantity

REQUIRED: Final = "FieldValueRequired"
INVALID: Final = "FieldValueInvalid"
DUPLICATE: Final = "FieldValueDuplicate"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
FORBIDDEN: Final = "FieldValueForbidden"
TOO_LONG: Final = "FieldValueTooLong"
TOO_MANY: Final = "FieldValueTooMany"
TYPE_INVALID: Final = "FieldValueTypeInvalid"
NOT_FOUND: Final = "FieldValueNotFound"
INTERNAL: Final = "InternalError"


class FieldError(msgspec.Struct, frozen=True):
    """One finding: the field's path, the cause's reason, and the text after the path."""

    field: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(field: str, detail: str = "") -> FieldError:
    """A value is missing."""
    return FieldError(field, REQUIRED, _join("Required value", detail))


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """A value is malformed or out of range."""
    return FieldError(field, INVALID, _join(f"Invalid value: {quoted(value)}", detail))


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """A value is of the wrong JSON type."""
    return FieldError(field, TYPE_INVALID, _join(f"Invalid value: {quoted(value)}", detail))


def duplicate(field: str, value: Any) -> FieldError:
    """A value that must be unique appears twice."""
    return FieldError(field, DUPLICATE, f"Duplicate value: {quoted(value)}")


def forbidden(field: str, detail: str) -> FieldError:
    """The value may not be set or changed here."""
    return FieldError(field, FORBIDDEN, _join("Forbidden", detail))


def not_found(field: str, value: Any) -> FieldError:
    """The value names something that does not exist."""
    return FieldError(field, NOT_FOUND, f"Not found: {quoted(value)}")


def not_supported(field: str, value: Any, supported: "list[str] | tuple[str, ...]") -> FieldError:
    """The value is not one of the known ones; they are listed in the given order."""
    detail = "supported values: " + ", ".join(f'"{item}"' for item in supported) if supported else ""
    return FieldError(field, NOT_SUPPORTED, _join(f"Unsupported value: {quoted(value)}", detail))


def too_long(field: str, limit: int) -> FieldError:
    """The text is longer than `limit` bytes."""
    unit = "byte" if limit == 1 else "bytes"
    return FieldError(field, TOO_LONG, f"Too long: may not be more than {limit} {unit}")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    """The list has more than `limit` items."""
    unit = "item" if limit == 1 else "items"
    return FieldError(field, TOO_MANY, f"Too many: {actual}: must have at most {limit} {unit}")


def quoted(value: Any) -> str:
    """The value as error messages show it: text as Go quotes it, quantities as their text, else JSON."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return gotext.quote(value)
    if isinstance(value, Quantity):
        return f'"{value}"'
    return msgspec.json.encode(value).decode()


def _join(head: str, detail: str) -> str:
    return f"{head}: {detail}" if detail else head
