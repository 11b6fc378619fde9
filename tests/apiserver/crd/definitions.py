"""Definitions whose names are accepted, and objects on their way through the rules."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Kind, UpdateStrategy
from flexlet.apiserver.crd.definition import define
from flexlet.apiserver.crd.strategy import CustomStrategy

DATA: Final = Path(__file__).parents[2] / "data" / "crd"
GROUP: Final = "example.com"
FREE: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

Object = dict[str, Any]


def lines(name: str) -> list[Any]:
    """The lines of a data file."""
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def around(field: Object) -> Object:
    """A schema with one field below spec."""
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": {"f": field}}}}


def definition(*versions: Object, kind: str = "Widget", scope: str = "Namespaced", **more: Any) -> Object:
    """A stored definition; the first version is the one that is stored."""
    plural = f"{kind.lower()}s"
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    given = [{"name": "v1", "served": True, "storage": not index, **one} for index, one in enumerate(versions)]
    return {
        "metadata": {"name": f"{plural}.{GROUP}", "uid": "u", "generation": 1, "resourceVersion": "1"},
        "spec": {"group": GROUP, "scope": scope, "names": {**names, **more}, "versions": given},
        "status": {"acceptedNames": {**names, **more}, "conditions": [], "storedVersions": ["v1"]},
    }


def version(schema: Object, **more: Any) -> Object:
    """A version of a definition."""
    return {"schema": {"openAPIV3Schema": schema}, **more}


def kind_of(schema: Object, **more: Any) -> Kind:
    """The kind that a definition of one version makes."""
    return define(definition(version(schema, **more))).served[0]


def rules_of(kind: Kind, path: str = "") -> UpdateStrategy:
    """The rules of a path."""
    found = kind.subresource(path)
    assert not path or found is not None
    rules = kind.strategy if found is None else found.update
    assert rules is not None
    return rules


def widget(name: str = "w", **content: Any) -> Object:
    """An object as a client sends it."""
    metadata = {"name": name, "namespace": "ns"}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": metadata, **content}


def created(kind: Kind, obj: Object) -> tuple[Object, list[FieldError], list[str]]:
    """The object after all steps of a creation, what is wrong with it, and what reading complained about."""
    obj = msgspec.json.decode(msgspec.json.encode(obj))
    assert isinstance(kind.strategy, CustomStrategy)
    complaints = kind.strategy.read(obj, checked=True)
    kind.strategy.default(obj)
    kind.strategy.prepare_create(obj)
    return obj, kind.strategy.validate(obj), complaints


def updated(kind: Kind, obj: Object, old: Object, path: str = "") -> tuple[Object, list[FieldError]]:
    """The object after all steps of an update, and what is wrong with it."""
    obj = msgspec.json.decode(msgspec.json.encode(obj))
    kind.strategy.read(obj, checked=False)
    kind.strategy.default(obj)
    rules = rules_of(kind, path)
    rules.prepare_update(obj, old)
    return obj, rules.validate_update(obj, old)


def causes(errors: list[FieldError]) -> list[list[str]]:
    """Errors in the form of the data files."""
    return sorted([error.field, error.reason, error.message] for error in errors)


def content(obj: Object) -> Object:
    """Spec and status."""
    return {key: value for key, value in obj.items() if key in {"spec", "status"}}
