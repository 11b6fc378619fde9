"""The defaults of a new definition: each must be a value that its own schema takes.

Follows ``apiserver/schema/defaulting/validation.go``; defaults inside metadata are forbidden elsewhere.
"""

from collections.abc import Iterator

from flexlet.api.fielderrors import FieldError
from flexlet.api.schema import Unreadable
from flexlet.apiserver.crd import embedded, objectmeta, ratchet, shaping, validate
from flexlet.apiserver.crd.cel.rules import Rules
from flexlet.apiserver.crd.findings import invalid
from flexlet.apiserver.crd.node import Node


def check_defaults(node: Node, field: str) -> Iterator[FieldError]:
    """What is wrong with the defaults of a schema and everything below it."""
    if not node.fills:
        return
    if node.default is not None:
        yield from _check(node, f"{field}.default")
    if node.items is not None:
        yield from check_defaults(node.items, f"{field}.items")
    for name, below in node.properties.items():
        yield from check_defaults(below, f"{field}.properties[{name}]")


def _check(node: Node, field: str) -> Iterator[FieldError]:
    pruned = shaping.copied(node.default)
    shaping.prune_value(pruned, node)
    if not ratchet.same(pruned, node.default):
        yield invalid(field, node.default, "must not have unknown fields")
    yield from _unreadable(node, field) or (
        embedded.check(node.default, node, field)
        or validate.check(node, node.default, prefix=field)
        or (Rules(node).check_value(node.default, field) if node.has_rules else [])
    )


def _unreadable(node: Node, field: str) -> list[FieldError]:
    """What keeps embedded resources from being read."""
    errors: list[FieldError] = []
    for value, path in objectmeta.embedded_resources(shaping.copied(node.default), node, field):
        errors += objectmeta.misnamed(value, path)
        try:
            objectmeta.settle({"metadata": value.get("metadata")}, checked=False)
        except Unreadable as fault:
            errors.append(invalid(f"{path}.metadata", value["metadata"], fault.message))
    return errors
