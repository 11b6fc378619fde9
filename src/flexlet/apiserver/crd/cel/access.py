"""Fields and items of values: present or not, by name, by index, optionally."""

from typing import Any, Final

from flexlet.apiserver.crd.cel.values import NO_OVERLOAD, CelError, Optional, equal

_SPECIAL: Final = {"__dot__": ".", "__dash__": "-", "__slash__": "/", "__underscores__": "__"}


def has(value: Any, field: str) -> bool:
    """Whether an object has a field that is not null."""
    if isinstance(value, Optional):
        value = value.value if value.present else {}
    if not isinstance(value, dict):
        raise CelError(NO_OVERLOAD)
    key = _key(value, field)
    return key is not None and value[key] is not None


def _key(value: dict[str, Any], field: str) -> str | None:
    """The field's name in the object: as written, or with its escapes undone; None if it is not there."""
    if field in value:
        return field
    if not field.startswith("__") and "__" not in field:
        return None
    plain = field
    for escape, sign in _SPECIAL.items():
        plain = plain.replace(escape, sign)
    if plain == field:
        plain = field.removeprefix("__").removesuffix("__")
    return plain if plain in value else None


def selected(value: Any, field: str) -> Any:
    """``a.b``."""
    if isinstance(value, Optional):
        return optional(value, field)
    if not isinstance(value, dict):
        raise CelError(NO_OVERLOAD)
    key = _key(value, field)
    if key is None:
        raise CelError(f"no such key: {field}")
    return value[key]


def indexed(value: Any, index: Any) -> Any:
    """``a[b]``."""
    if isinstance(value, Optional):
        return optional(value, index)
    if isinstance(value, list) and type(index) is int:
        if not 0 <= index < len(value):
            raise CelError(f"index out of bounds: {index}")
        return value[index]
    if isinstance(value, dict):
        found = next((key for key in value if equal(key, index)), None)
        if found is None:
            raise CelError(f"no such key: {index}")
        return value[found]
    raise CelError(NO_OVERLOAD)


def optional(value: Any, index: Any) -> Optional:
    """``a.?b`` and ``a[?b]``."""
    inner = value.value if isinstance(value, Optional) else value
    if isinstance(value, Optional) and not value.present:
        return value
    try:
        found = (
            selected(inner, index) if isinstance(index, str) and isinstance(inner, dict) else indexed(inner, index)
        )
    except CelError:
        return Optional()
    return Optional(found, True)
