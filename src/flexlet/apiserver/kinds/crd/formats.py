"""Formats of strings and numbers that schemas may name; unknown ones are ignored, with a warning."""

from collections.abc import Iterator
from typing import Any, Final

from flexlet.apiserver.contract.kind import Object

_STRINGS: Final = frozenset(
    {
        *("bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4"),
        *("uuid5", "isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password"),
        *("date", "duration", "datetime", "k8sshortname", "k8slongname"),
    }
)
_NUMBERS: Final = {"integer": frozenset({"int32", "int64"}), "number": frozenset({"float", "double"})}


def unrecognized(crd: Object) -> list[str]:
    """The formats in a definition's schemas that nothing checks, as often as they stand there."""
    schemas = [version.get("schema", {}).get("openAPIV3Schema") for version in crd["spec"].get("versions") or ()]
    distinct = [schema for index, schema in enumerate(schemas) if schema not in schemas[:index]]
    return [name for schema in distinct for name in _unrecognized(schema)]


def _unrecognized(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from _unrecognized(item)
    if not isinstance(node, dict):
        return
    name, kind = node.get("format"), node.get("type", "")
    if isinstance(name, str) and name and not _is_known(name, kind):
        yield name
    for word in ("items", "allOf", "anyOf", "oneOf", "not", "additionalProperties"):
        yield from _unrecognized(node.get(word))
    for below in node.get("properties", {}).values():
        yield from _unrecognized(below)


def _is_known(name: str, kind: str) -> bool:
    if kind in {"", "string"}:
        return name.replace("-", "") in _STRINGS
    return name in _NUMBERS.get(kind, ())
