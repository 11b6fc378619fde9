"""Embedded resources: each must say what it is, and have metadata that is right."""

from collections.abc import Iterator
from typing import Any

from flexlet.api import names
from flexlet.api.fielderrors import FieldError, required
from flexlet.api.schema import Unreadable, interpret
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.crd.findings import invalid
from flexlet.apiserver.crd.node import Node
from flexlet.apiserver.crd.objectmeta import embedded_resources
from flexlet.apiserver.kinds import metadata


def check(value: Any, node: Node, path: str = "") -> list[FieldError]:
    """What is wrong with the resources embedded in a value that stands at a path."""
    return [error for found, place in embedded_resources(value, node, path) for error in _check(found, place)]


def _check(value: Object, path: str) -> Iterator[FieldError]:
    for name, rule in (("apiVersion", _version_complaint), ("kind", _kind_complaint)):
        if name not in value:
            yield required(f"{path}.{name}")
        elif not isinstance(value[name], str):
            yield invalid(f"{path}.{name}", value[name], "must be a string")
        elif complaint := rule(value[name]) if value[name] else "must not be empty":
            yield invalid(f"{path}.{name}", value[name], complaint)
    given = value.get("metadata")
    if isinstance(given, dict):
        # A name is not required here.
        named = {"metadata": {**given, "name": given.get("name") or "fakename"}}
        for error in metadata.validate_common(named, namespaced=bool(given.get("namespace"))):
            yield FieldError(f"{path}.{error.field}", error.reason, error.message)


def _version_complaint(version: str) -> str:
    try:
        interpret({"apiVersion": version})
    except Unreadable as fault:
        return fault.message
    return ""


def _kind_complaint(kind: str) -> str:
    complaints = names.dns1035_label(kind.lower())
    return "may have mixed case, but should otherwise match: " + ",".join(complaints) if complaints else ""
