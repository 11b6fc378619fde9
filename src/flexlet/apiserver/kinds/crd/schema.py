"""What an OpenAPI schema of a definition may use: the standard's words that Kubernetes knows, and its own.

Structure is `structural`'s subject. Paths are those of upstream's validator, which walks the schema once here and
once there.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from flexlet.api import fielderrors
from flexlet.api.fielderrors import FieldError
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.crd.extensions import check_extensions
from flexlet.apiserver.kinds.crd.structural import check_structural

MAX_SELECTABLE: Final = 8
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_META: Final = ("metadata", "kind", "apiVersion")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_SELECTABLE_TYPES: Final = ("string", "boolean", "integer")
_AT_ROOT: Final = (
    *("Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum"),
    *("MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required"),
    *("Items", "Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"),
)
_AT_ROOT_JSON: Final = frozenset(
    {name[0].lower() + name[1:] for name in _AT_ROOT}
    | {"x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations"}
)


class _Place(msgspec.Struct, frozen=True):
    """Where in the schema a part stands."""

    root: bool = False
    inside_meta: bool = False
    no_defaults: str = ""
    """Why defaults are forbidden here; empty where they are not."""


def check_validation(validation: Object | None, field: str, *, has_status: bool) -> list[FieldError]:
    """A version's ``schema``, or the ``validation`` of all versions."""
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    field = f"{field}.openAPIV3Schema"
    errors = _check_root(schema, field) if has_status else []
    if schema.get("nullable"):
        errors.append(fielderrors.forbidden(f"{field}.nullable", "nullable cannot be true at the root"))
    return [*errors, *check_structural(schema, field), *_check(schema, field, _Place(root=True))]


def _check_root(schema: Object, field: str) -> list[FieldError]:
    if schema.get("type", "object") != "object":
        text = (
            'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        )
        return [fielderrors.invalid(f"{field}.type", schema["type"], text)]
    if set(schema) <= _AT_ROOT_JSON:
        return []
    allowed = " ".join(_AT_ROOT)
    text = f"only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
    return [fielderrors.invalid(field, schema, text)]


def _check(schema: Object, field: str, place: _Place) -> list[FieldError]:
    errors = [*_check_words(schema, field, place)]
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(fielderrors.forbidden(f"{field}.uniqueItems", text))
    extra = schema.get("additionalProperties")
    if schema.get("properties") and extra is not None and extra is not True:
        text = "additionalProperties and properties are mutual exclusive"
        errors.append(fielderrors.forbidden(f"{field}.additionalProperties", text))
    for below, path, inner in _below(schema, field, place):
        errors += _check(below, path, inner)
    return errors + check_extensions(schema, field)


def _check_words(schema: Object, field: str, place: _Place) -> Iterator[FieldError]:
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield fielderrors.not_supported(f"{field}.type", kind, _TYPES)
    if "default" in schema and place.no_defaults:
        yield fielderrors.forbidden(f"{field}.default", f"must not be set {place.no_defaults}")
    for word in _UNSUPPORTED:
        if schema.get(word):
            yield fielderrors.forbidden(f"{field}.{word}", f"{word} is not supported")
    if kind == "null":
        text = "type cannot be set to null, use nullable as an alternative"
        yield fielderrors.forbidden(f"{field}.type", text)
    if isinstance(schema.get("items"), list):
        yield fielderrors.forbidden(f"{field}.items", "items must be a schema object and not an array")
    if place.inside_meta and schema.get("x-kubernetes-embedded-resource"):
        text = "must not be used inside of resource meta"
        yield fielderrors.forbidden(f"{field}.x-kubernetes-embedded-resource", text)


def _below(schema: Object, field: str, place: _Place) -> Iterator[tuple[Object, str, _Place]]:
    """The schemas directly below, with their paths and places."""
    inner = msgspec.structs.replace(place, root=False)
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        text = "inside additionalProperties applying to object metadata"
        forbidden = msgspec.structs.replace(inner, no_defaults=text) if place.inside_meta else inner
        yield extra, f"{field}.additionalProperties", forbidden
    for name, below in schema.get("properties", {}).items():
        yield below, f"{field}.properties[{name}]", _property_place(schema, name, place)
    if "not" in schema:
        yield schema["not"], f"{field}.not", inner
    for word in ("allOf", "oneOf", "anyOf"):
        for index, below in enumerate(schema.get(word, ())):
            yield below, f"{field}.{word}[{index}]", inner
    for name, below in schema.get("definitions", {}).items():
        yield below, f"{field}.definitions[{name}]", inner
    items = schema.get("items")
    if isinstance(items, dict):
        yield items, f"{field}.items", inner
    elif isinstance(items, list):
        for index, below in enumerate(items):
            yield below, f"{field}.items[{index}]", inner


def _property_place(schema: Object, name: str, place: _Place) -> _Place:
    meta = (place.root or schema.get("x-kubernetes-embedded-resource")) and name in _META
    reason = f"in top-level {name}" if meta and place.root else place.no_defaults
    return _Place(inside_meta=bool(meta) or place.inside_meta, no_defaults=reason)


def check_selectable(selectable: list[Object], validation: Object | None, field: str) -> list[FieldError]:
    """Fields by which custom resources can be selected: plain values outside of metadata."""
    schema = (validation or {}).get("openAPIV3Schema")
    if schema is None:
        text = "may only be set when validations.schema is included"
        return [fielderrors.invalid(field, "", text)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, entry in enumerate(selectable):
        path, place = entry.get("jsonPath", ""), f"{field}[{index}].jsonPath"
        errors += _check_selectable_path(path, schema, place)
        if path in seen:
            errors.append(fielderrors.duplicate(place, path))
        seen.add(path)
    if len(seen) > MAX_SELECTABLE:
        errors.append(fielderrors.too_many(field, len(seen), MAX_SELECTABLE))
    return errors


def _check_selectable_path(path: str, schema: Object, field: str) -> list[FieldError]:
    if not path:
        return [fielderrors.required(field)]
    found: Object | None = schema
    for step in path.removeprefix(".").split("."):
        found = (found or {}).get("properties", {}).get(step)
        if found is None:
            return [
                fielderrors.invalid(field, path, f"is an invalid path: does not refer to a valid field: {step}")
            ]
    errors = []
    if path.startswith(".metadata."):
        errors.append(fielderrors.invalid(field, path, "must not point to fields in metadata"))
    if (found or {}).get("type") not in _SELECTABLE_TYPES:
        text = (
            "must point to a field of type string, boolean or integer. Enum string fields and strings with "
            "formats are allowed."
        )
        errors.append(fielderrors.invalid(field, path, text))
    return errors
