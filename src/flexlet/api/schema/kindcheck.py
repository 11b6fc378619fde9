"""Whether a document is of the kind it is sent as.

Like upstream, a document that names another kind is first read as that kind, so its faults come before the news
that it cannot be converted; and one that names a kind nobody knows is not read at all.
"""

import functools
from typing import Any, Final

from flexlet.api.schema.exact import Unreadable
from flexlet.api.schema.strict import read_value
from flexlet.api.schema.typemeta import TypeMeta
from flexlet.api.schema.types import Type, type_for

SCHEME: Final = 'in scheme "pkg/runtime/scheme.go:111"'


@functools.cache
def kind_of(of: Type) -> TypeMeta:
    """Which kind the type is."""
    return TypeMeta(**of.raw["gvk"])


def stated(meta: TypeMeta, wanted: TypeMeta) -> TypeMeta:
    """What a document says it is; where it says nothing, it is what is wanted."""
    group = meta.group if meta.version else wanted.group
    return TypeMeta(group, meta.version or wanted.version, meta.kind or wanted.kind)


def require_kind(meta: TypeMeta, wanted: TypeMeta, value: Any = None) -> None:
    """Unreadable, in upstream's words, if the document names another kind than is wanted."""
    said = stated(meta, wanted)
    if said == wanted:
        return
    version = f"{said.group}/{said.version}" if said.group else said.version
    other = type_for(said.group, said.version, said.kind)
    if other is None:
        raise Unreadable(f'no kind "{said.kind}" is registered for version "{version}" {SCHEME}')
    if value is not None:
        read_value(other, value, checked=False)
    package = wanted.group.partition(".")[0] or "core"
    raise Unreadable(f"converting ({said.version}.{said.kind}) to ({package}.{wanted.kind}): unknown conversion")
