"""Which kind a body says it is: looked at before anything else of it.

Follows ``runtime/serializer/json/meta.go`` and ``runtime/schema/group_version.go``. An absent kind or version is
fine here; the server fills it in from the path for built-in kinds.
"""

from typing import Any, Final

import msgspec

from flexlet.api.schema import scalars
from flexlet.api.schema.exact import Unreadable

_GO_STRUCT: Final = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)


class TypeMeta(msgspec.Struct, frozen=True):
    """Group, version and kind as the body has them; empty where it says nothing."""

    group: str = ""
    version: str = ""
    kind: str = ""


def interpret(value: Any) -> TypeMeta:
    """Read kind and apiVersion of a decoded body; Unreadable in upstream's words."""
    if value is None:
        return TypeMeta()
    if not isinstance(value, dict):
        raise _fault(f"{scalars.described(value)} into Go value of type {_GO_STRUCT}")
    # Go stops at the first wrong type in document order.
    for name in value:
        if name in {"apiVersion", "kind"} and not isinstance(value[name], str | None):
            raise _fault(f"{scalars.described(value[name])} into Go struct field .{name} of type string")
    group, version = group_version(value.get("apiVersion") or "")
    return TypeMeta(group, version, value.get("kind") or "")


def group_version(text: str) -> tuple[str, str]:
    """Split an apiVersion: ``apps/v1`` or, for the core group, ``v1``."""
    if text.count("/") > 1:
        raise Unreadable(f"unexpected GroupVersion string: {text}")
    group, _, version = text.rpartition("/")
    return group, version


def _fault(what: str) -> Unreadable:
    return Unreadable(f"couldn't get version/kind; json parse error: json: cannot unmarshal {what}")
