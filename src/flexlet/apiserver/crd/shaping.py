"""Objects brought into the shape of their schema, in place: unknown fields out, nulls resolved, defaults in.

The order matters and is upstream's: `prune`, `drop_nulls`, then `fill`. Values of a wrong type are left for
validation to find. Follows ``apiserver/schema/{pruning,defaulting}``.
"""

from typing import Any, Final

import msgspec

from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.crd.node import EMPTY, Node

META: Final = frozenset({"apiVersion", "kind", "metadata"})

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


def prune(obj: Object, root: Node) -> list[str]:
    """Take out the fields of a resource that its schema does not know; their paths, sorted."""
    found: list[str] = []
    if root.preserve:
        _spare(obj, root, "", found, root=True)
    else:
        _prune_object(obj, root, "", found, root=True)
    return sorted(found)


def prune_value(value: Any, node: Node) -> None:
    """Take out what the schema of a value does not know."""
    _prune(value, node, "", [])


def _prune(value: Any, node: Node | None, path: str, found: list[str]) -> None:
    if node is not None and node.preserve:
        _spare(value, node, path, found)
    elif isinstance(value, dict):
        _prune_object(value, node, path, found)
    elif isinstance(value, list):
        items = None if node is None else node.items
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                _prune(item, items, f"{path}[{index}]", found)


def _prune_object(value: Object, node: Node | None, path: str, found: list[str], *, root: bool = False) -> None:
    schema = EMPTY if node is None else node
    unknown = []
    for name, item in value.items():
        if name in META and (root or schema.embedded):
            continue
        below = schema.properties.get(name)
        if below is None and not schema.open:
            unknown.append(name)
        elif isinstance(item, dict | list):
            _prune(item, below or schema.additional, f"{path}.{name}" if path else name, found)
    for name in unknown:
        del value[name]
        found.append(f"{path}.{name}" if path else name)


def _spare(value: Any, node: Node, path: str, found: list[str], *, root: bool = False) -> None:
    """Keep unknown fields, but look into those that the schema knows."""
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, dict | list) and not (name in META and (root or node.embedded)):
                below = node.properties.get(name)
                if below is not None or node.open:
                    _prune(item, below or node.additional, f"{path}.{name}" if path else name, found)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            _spare(item, node.items, f"{path}[{index}]", found)


def drop_nulls(value: Any, node: Node | None) -> None:
    """Take out fields that are null, may not be, and have no default to take the place."""
    if isinstance(value, list):
        for item in value:
            drop_nulls(item, None if node is None else node.items)
    if not isinstance(value, dict) or node is None:
        return
    for name, item in tuple(value.items()):
        below = node.below(name)
        if item is None:
            if below is not None and not below.nullable and below.default is None:
                del value[name]
        elif isinstance(item, dict | list):
            drop_nulls(item, below)


def fill(value: Any, node: Node | None) -> None:
    """Put in the defaults of fields that are missing, or null where they may not be."""
    if node is None or not node.fills:
        return
    if isinstance(value, dict):
        _fill_object(value, node)
    elif isinstance(value, list):
        _fill_items(value, node.items)


def _fill_object(value: Object, node: Node) -> None:
    for name, below in node.defaulted:
        if name not in value or (value[name] is None and not below.nullable):
            value[name] = copied(below.default)
    for name, item in value.items():
        below_ = node.properties.get(name)
        if below_ is not None:
            fill(item, below_)
        elif node.additional is not None:
            if item is None and not node.additional.nullable:
                value[name] = copied(node.additional.default)
            fill(value[name], node.additional)


def _fill_items(value: list[Any], node: Node | None) -> None:
    for index, item in enumerate(value):
        if item is None and node is not None and not node.nullable:
            value[index] = copied(node.default)
        fill(value[index], node)


def copied(value: Any) -> Any:
    """A value that may be changed without changing the schema."""
    return _decode(_encode(value)) if isinstance(value, dict | list) else value
