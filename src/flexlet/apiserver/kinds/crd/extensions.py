"""The ``x-kubernetes-`` words of a schema: list and map types, and the text of CEL rules."""

import re
from collections.abc import Iterator
from typing import Final

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object

_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_RULES: Final = "x-kubernetes-validations"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def check_extensions(schema: Object, field: str) -> list[FieldError]:
    """All of them, at one place of the schema."""
    return [
        *_check_preserve(schema, field),
        *_check_map_type(schema, field),
        *_check_list_type(schema, field),
        *_check_list_keys(schema, field),
        *_check_keys_present(schema, field),
        *_check_rules(schema, field),
    ]


def _check_preserve(schema: Object, field: str) -> Iterator[FieldError]:
    if schema.get(_PRESERVE) is False:
        yield fielderrors.invalid(f"{field}.{_PRESERVE}", False, "must be true or undefined")


def _check_map_type(schema: Object, field: str) -> Iterator[FieldError]:
    found = schema.get(_MAP_TYPE)
    if found is None:
        return
    yield from _must_be(schema, "object", f"must be object if {_MAP_TYPE} is specified", field)
    if found not in {"atomic", "granular"}:
        yield fielderrors.not_supported(f"{field}.{_MAP_TYPE}", found, ("atomic", "granular"))


def _must_be(schema: Object, kind: str, text: str, field: str) -> Iterator[FieldError]:
    given = schema.get("type", "")
    if not given:
        yield fielderrors.required(f"{field}.type", text)
    elif given != kind:
        yield fielderrors.invalid(f"{field}.type", given, text)


def _check_list_type(schema: Object, field: str) -> Iterator[FieldError]:
    found = schema.get(_LIST_TYPE)
    if found is None:
        return
    wrong = list(_must_be(schema, "array", f"must be array if {_LIST_TYPE} is specified", field))
    yield from wrong
    if not wrong and found == "set":
        yield from _check_set_items(_items(schema), f"{field}.items")
    if found not in {"atomic", "set", "map"}:
        yield fielderrors.not_supported(f"{field}.{_LIST_TYPE}", found, ("atomic", "set", "map"))


def _check_set_items(items: Object, field: str) -> Iterator[FieldError]:
    """Members of a set are compared whole."""
    text = f"must be atomic as item of a list with {_LIST_TYPE}=set"
    if items.get("type") == "array" and items.get(_LIST_TYPE, "atomic") != "atomic":
        yield fielderrors.invalid(f"{field}.{_LIST_TYPE}", items[_LIST_TYPE], text)
    if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        # Upstream shows the list type here.
        yield fielderrors.invalid(f"{field}.{_MAP_TYPE}", items.get(_LIST_TYPE), text)


def _check_list_keys(schema: Object, field: str) -> Iterator[FieldError]:
    keys, found = schema.get(_LIST_KEYS, []), schema.get(_LIST_TYPE)
    text = f"must be map if {_LIST_KEYS} is non-empty"
    if keys and found is None:
        yield fielderrors.required(f"{field}.{_LIST_TYPE}", text)
    elif keys and found != "map":
        yield fielderrors.invalid(f"{field}.{_LIST_TYPE}", found, text)
    if found != "map":
        return
    if not keys:
        yield fielderrors.required(f"{field}.{_LIST_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    if "items" not in schema:
        yield fielderrors.required(f"{field}.items", f"must have a schema if {_LIST_TYPE} is map")
    items = _items(schema)
    if items and items.get("type") != "object":
        text = f"must be object if parent array's {_LIST_TYPE} is map"
        yield fielderrors.invalid(f"{field}.items.type", items.get("type", ""), text)
    elif items:
        yield from _check_keys(keys, items, field)


def _check_keys(keys: list[str], items: Object, field: str) -> Iterator[FieldError]:
    for index, key in enumerate(keys):
        below = items.get("properties", {}).get(key)
        if below is None:
            text = "entries must all be names of item properties"
            yield fielderrors.invalid(f"{field}.{_LIST_KEYS}", keys, text)
        elif below.get("type") in {"array", "object"}:
            text = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield fielderrors.invalid(f"{field}.items.properties[{key}].type", items.get("type", ""), text)
        if key in keys[:index]:
            yield fielderrors.invalid(f"{field}.{_LIST_KEYS}", keys, "must not contain duplicate entries")


def _check_keys_present(schema: Object, field: str) -> Iterator[FieldError]:
    """What identifies an item must always be there."""
    found, items = schema.get(_LIST_TYPE), _items(schema)
    if found not in {"set", "map"} or not items:
        return
    if items.get("nullable"):
        text = f"cannot be nullable when {_LIST_TYPE} is {found}"
        yield fielderrors.forbidden(f"{field}.items.nullable", text)
    for key in schema.get(_LIST_KEYS, ()) if found == "map" else ():
        below, path = items.get("properties", {}).get(key), f"{field}.items.properties[{key}]"
        if below is None:
            continue
        if key not in items.get("required", ()) and "default" not in below:
            text = f"this property is in {_LIST_KEYS}, so it must have a default or be a required property"
            yield fielderrors.required(f"{path}.default", text)
        if below.get("nullable"):
            text = f"this property is in {_LIST_KEYS}, so it cannot be nullable"
            yield fielderrors.forbidden(f"{path}.nullable", text)


def _check_rules(schema: Object, field: str) -> Iterator[FieldError]:
    for index, rule in enumerate(schema.get(_RULES, ())):
        yield from _check_rule(rule, f"{field}.{_RULES}[{index}]")


def _check_rule(rule: Object, field: str) -> Iterator[FieldError]:
    text, message = rule.get("rule", "").strip(), rule.get("message", "")
    if not text:
        yield fielderrors.required(f"{field}.rule", "rule is not specified")
    elif message and not message.strip():
        yield fielderrors.invalid(f"{field}.message", message, "must be non-empty if specified")
    elif _has_lines(message.strip()):
        yield fielderrors.invalid(f"{field}.message", message, "must not contain line breaks")
    elif _has_lines(text) and not message.strip():
        wanted = "message must be specified if rule contains line breaks"
        yield fielderrors.required(f"{field}.message", wanted)
    expression = rule.get("messageExpression", "")
    if expression and not expression.strip():
        wanted = "messageExpression must be non-empty if specified"
        yield fielderrors.required(f"{field}.messageExpression", wanted)
    reason, path = rule.get("reason"), rule.get("fieldPath", "")
    if reason is not None and reason not in _REASONS:
        yield fielderrors.not_supported(f"{field}.reason", reason, _REASONS)
    if path and not path.strip():
        yield fielderrors.invalid(f"{field}.fieldPath", path, "must be non-empty if specified")
    if _has_lines(path):
        yield fielderrors.invalid(f"{field}.fieldPath", path, "must not contain line breaks")


def _has_lines(text: str) -> bool:
    return re.search(r"[\n\r]", text) is not None


def _items(schema: Object) -> Object:
    items = schema.get("items")
    return items if isinstance(items, dict) else {}
