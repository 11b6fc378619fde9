"""What the served kinds look like, and reading bodies against it.

- `types` the facts: fields, shapes, merge keys, protobuf numbers
- `strict` the ways in: bytes or values become checked objects in their stored form
- `typemeta`, `kindcheck` which kind a body says it is, and whether it is the right one
- inside: `shapes` (quick yes or no), `exact` and `converter` (slow, with Go's words), `canonical` (stored form),
  `scalars` (quantities, times, bytes)
"""

from flexlet.api.schema.exact import Decoded, Unreadable, zero
from flexlet.api.schema.kindcheck import kind_of, require_kind
from flexlet.api.schema.strict import convert, read, read_value, stored_form
from flexlet.api.schema.typemeta import TypeMeta, interpret
from flexlet.api.schema.types import Type, named, type_for

__all__ = [
    "Decoded",
    "Type",
    "TypeMeta",
    "Unreadable",
    "convert",
    "interpret",
    "kind_of",
    "named",
    "read",
    "read_value",
    "require_kind",
    "stored_form",
    "type_for",
    "zero",
]
