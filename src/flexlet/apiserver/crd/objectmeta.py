"""Metadata inside custom resources: known fields only, of the right types.

The object's own metadata, and that of resources embedded in it (``x-kubernetes-embedded-resource``). Follows
``apiserver/schema/objectmeta``: what cannot be read is an error of the whole body.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from flexlet.api import schema
from flexlet.api.fielderrors import FieldError
from flexlet.api.schema import Unreadable
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.crd.findings import invalid
from flexlet.apiserver.crd.node import Node

_TYPE: Final = schema.named("meta.ObjectMeta")


def settle(obj: Object, *, checked: bool) -> list[str]:
    """Bring the object's metadata into its stored form; the paths of fields it does not have, or Unreadable."""
    given = obj.get("metadata")
    if given is None:
        obj["metadata"] = {}
        return []
    read = schema.read_value(_TYPE, given, checked=checked)
    obj["metadata"] = read.value
    return [f"metadata.{path}" for path in _paths(read.complaints)]


def settle_embedded(obj: Object, root: Node, *, checked: bool) -> list[str]:
    """The same for embedded resources."""
    found: list[str] = []
    for value, path in list(embedded_resources(obj, root)):
        for error in misnamed(value, path):
            raise Unreadable(str(error))
        if "metadata" in value:
            found += [f"{path}.metadata.{field}" for field in _settle_one(value, path, checked)]
    return sorted(found)


def misnamed(value: Object, path: str) -> Iterator[FieldError]:
    """The names of an embedded resource that are no text."""
    for name in ("apiVersion", "kind"):
        if name in value and not isinstance(value[name], str):
            yield invalid(f"{path}.{name}", value[name], "must be a string")


def mend_embedded(obj: Object, root: Node) -> None:
    """The same for stored objects, whose schema may have been another: what cannot be read is let be."""
    for value, path in list(embedded_resources(obj, root)):
        for name in ("apiVersion", "kind"):
            if not isinstance(value.get(name, ""), str):
                del value[name]
        if "metadata" in value:
            with contextlib.suppress(Unreadable):
                _settle_one(value, path, checked=False)


def _settle_one(value: Object, path: str, checked: bool) -> list[str]:
    try:
        read = schema.read_value(_TYPE, value["metadata"], checked=checked)
    except Unreadable as fault:
        error = invalid(f"{path}.metadata", value["metadata"], fault.message)
        raise Unreadable(str(error)) from None
    value["metadata"] = read.value
    return _paths(read.complaints)


def embedded_resources(value: Any, node: Node | None, path: str = "") -> Iterator[tuple[Object, str]]:
    """Every embedded resource with its path, outer ones first."""
    if node is None or not node.has_embedded:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from embedded_resources(item, node.items, f"{path}[{index}]")
    if not isinstance(value, dict):
        return
    if node.embedded:
        yield value, path
    for name, item in value.items():
        if name in node.properties:
            yield from embedded_resources(item, node.properties[name], f"{path}.{name}" if path else name)
        else:
            yield from embedded_resources(item, node.additional, f"{path}[{name}]")


def _paths(complaints: tuple[str, ...]) -> list[str]:
    """The paths in complaints of the form ``unknown field "a.b"``, in the order of sorted documents."""
    return sorted(complaint.removeprefix('unknown field "').removesuffix('"') for complaint in complaints)
