"""Structural schemas: every value has a type, and logic (``anyOf`` ...) only narrows what is already specified.

Such a schema can be pruned and defaulted. Follows ``apiserver/schema/{validation,complete}.go``: `_invariants`
looks at the skeleton, `_narrowing` at what stands inside logic, `_completeness` at whether logic speaks of fields
that the skeleton does not have.
"""

from collections.abc import Iterator
from typing import Any, Final

from flexlet.api import fielderrors, regexps
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object

_ROOT: Final = "at the root"
_ITEM: Final = "for specified array items"
_FIELD: Final = "for specified object fields"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_EITHER: Final = [{"type": "integer"}, {"type": "string"}]
_LOGIC: Final = ("allOf", "anyOf", "oneOf")
# What logic may not say, and how upstream puts it.
_NOT_IN_LOGIC: Final = (
    *(("type", "empty"), ("additionalProperties", "undefined"), ("default", "undefined"), ("title", "empty")),
    *(("description", "empty"), ("nullable", "false"), (_PRESERVE, "false"), (_EMBEDDED, "false")),
    *((_INT_OR_STRING, "false"), ("x-kubernetes-list-map-keys", "empty"), ("x-kubernetes-list-type", "undefined")),
    *(("x-kubernetes-map-type", "undefined"), ("x-kubernetes-validations", "empty")),
)


def check_structural(schema: Object, field: str) -> list[FieldError]:
    """What keeps a schema from being structural, sorted by text."""
    errors = [*_invariants(schema, _ROOT, field), *_completeness(schema, schema, field, field)]
    return sorted(errors, key=str)


def _invariants(schema: Object, level: str, field: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if kind == "array" and "items" not in schema:
        yield fielderrors.required(f"{field}.items", "must be specified")
    for below, path, inner in _skeleton(schema, field):
        yield from _invariants(below, inner, path)
    if level == _ROOT and schema.get("additionalProperties") is not None:
        yield fielderrors.forbidden(f"{field}.additionalProperties", "must not be used at the root")
    yield from _check_either(schema, field)
    yield from _check_logic(schema, field)
    yield from _check_type(schema, level, field)
    if level == _ROOT or schema.get(_EMBEDDED):
        yield from _check_meta_types(schema, field)
    if level == _ROOT and "metadata" in schema.get("properties", {}):
        yield from _check_metadata(schema["properties"]["metadata"], f"{field}.properties[metadata]")
    if schema.get(_EMBEDDED):
        yield from _check_embedded(schema, field)


def _skeleton(schema: Object, field: str) -> Iterator[tuple[Object, str, str]]:
    if isinstance(schema.get("items"), dict):
        yield schema["items"], f"{field}.items", _ITEM
    for name, below in schema.get("properties", {}).items():
        yield below, f"{field}.properties[{name}]", _FIELD
    if isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"], f"{field}.additionalProperties", _FIELD


def _check_either(schema: Object, field: str) -> Iterator[FieldError]:
    if not schema.get(_INT_OR_STRING):
        return
    for word in (_PRESERVE, _EMBEDDED):
        if schema.get(word):
            yield fielderrors.invalid(f"{field}.{word}", True, f"must be false if {_INT_OR_STRING} is true")


def _check_type(schema: Object, level: str, field: str) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if schema.get(_EMBEDDED) and kind != "object":
        text = f"must be object if {_EMBEDDED} is true"
        wrong = fielderrors.invalid(f"{field}.type", kind, text)
        yield wrong if kind else fielderrors.required(f"{field}.type", text)
    elif not kind and not schema.get(_INT_OR_STRING) and not schema.get(_PRESERVE):
        yield fielderrors.required(f"{field}.type", f"must not be empty {level}")
    if level == _ROOT and kind not in {"", "object"}:
        yield fielderrors.invalid(f"{field}.type", kind, "must be object at the root")


def _check_meta_types(schema: Object, field: str) -> Iterator[FieldError]:
    for name, kind in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
        below = schema.get("properties", {}).get(name)
        if below is not None and below.get("type", "") != kind:
            yield fielderrors.invalid(f"{field}.properties[{name}].type", below.get("type", ""), f"must be {kind}")


def _check_metadata(schema: Object, field: str) -> Iterator[FieldError]:
    """Metadata is known; only its names may be restricted further."""
    rest = {key for key in schema if key not in {"type", "default", "properties"}}
    if rest or not set(schema.get("properties", {})) <= {"name", "generateName"}:
        text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield fielderrors.forbidden(field, text)


def _check_embedded(schema: Object, field: str) -> Iterator[FieldError]:
    if schema.get("additionalProperties") is not None:
        text = f"must not be used if {_EMBEDDED} is set"
        yield fielderrors.forbidden(f"{field}.additionalProperties", text)
    if not schema.get(_PRESERVE) and not schema.get("properties"):
        text = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        yield fielderrors.required(f"{field}.properties", text)


def _check_logic(schema: Object, field: str, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    """The parts of logic; the usual way to write int-or-string is let through."""
    for index, part in enumerate(schema.get("anyOf", ())):
        if not skip_any_of and schema["anyOf"] != _EITHER:
            yield from _narrowing(part, f"{field}.anyOf[{index}]")
    for index, part in enumerate(schema.get("allOf", ())):
        either = index == 0 and part.get("anyOf") == _EITHER
        yield from _narrowing(part, f"{field}.allOf[{index}]", skip_any_of=either)
    for index, part in enumerate(schema.get("oneOf", ())):
        yield from _narrowing(part, f"{field}.oneOf[{index}]")
    if "not" in schema:
        yield from _narrowing(schema["not"], f"{field}.not")
    yield from _check_pattern(schema.get("pattern", ""), f"{field}.pattern")


def _check_pattern(pattern: str, field: str) -> Iterator[FieldError]:
    try:
        regexps.compiled(pattern)
    except regexps.WrongPattern as fault:
        text = f"must be a valid regular expression, but isn't: {fault.message}"
        yield fielderrors.invalid(field, pattern, text)


def _narrowing(schema: Object, field: str, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    yield from _check_logic(schema, field, skip_any_of=skip_any_of)
    if isinstance(schema.get("items"), dict):
        yield from _narrowing(schema["items"], f"{field}.items")
    for name, below in schema.get("properties", {}).items():
        yield from _narrowing(below, f"{field}.properties[{name}]")
    for word, wanted in _NOT_IN_LOGIC:
        if schema.get(word):
            yield fielderrors.forbidden(f"{field}.{word}", f"must be {wanted} to be structural")
    if "metadata" in schema.get("properties", {}):
        text = "must not be specified in a nested context"
        yield fielderrors.forbidden(f"{field}.properties[metadata]", text)


def _completeness(logic: Object, skeleton: Object, path: str, logic_path: str) -> Iterator[FieldError]:
    parts = [(part, f"{word}[{index}]") for word in _LOGIC for index, part in enumerate(logic.get(word, ()))]
    if "not" in logic:
        parts.insert(0, (logic["not"], "not"))
    for part, name in parts:
        yield from _mentioned(part, skeleton, path, f"{logic_path}.{name}")


def _mentioned(logic: Object, skeleton: Any, path: str, logic_path: str) -> Iterator[FieldError]:
    """Everything that logic mentions must be in the skeleton."""
    if skeleton is None:
        yield fielderrors.required(path, f"because it is defined in {logic_path}")
        return
    if not isinstance(skeleton, dict):
        return  # no schema at all, which is said elsewhere
    yield from _completeness(logic, skeleton, path, logic_path)
    if isinstance(logic.get("items"), dict):
        yield from _mentioned(logic["items"], skeleton.get("items"), f"{path}.items", f"{logic_path}.items")
    for name, below in logic.get("properties", {}).items():
        step = f"properties[{name}]"
        found = skeleton.get("properties", {}).get(name)
        yield from _mentioned(below, found, f"{path}.{step}", f"{logic_path}.{step}")
