"""A structural schema, compiled once per version of a definition.

One node per place of the schema, with the skeleton (fields, items, defaults: what `shaping` works by) and the
value rules (what `validate` checks). Words that the definition's own validation refuses are not looked at. Follows
``apiserver/schema/convert.go`` for the skeleton and ``apiserver/validation`` for the values.
"""

import functools
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from flexlet.api import regexps
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.crd.formats import known_format

INTEGER_OR_STRING: Final = ("integer", "string")
_LOGIC: Final = ("allOf", "anyOf", "oneOf")
_QUICK: Final[Mapping[str, Mapping[type, int]]] = {
    "string": {str: 7},
    "integer": {int: 8},
    "number": {int: 8, float: 8},
    "boolean": {bool: 6},
}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What numbers, texts and sizes a schema allows; None where it says nothing."""

    maximum: float | None = None
    exclusive_maximum: bool = False
    minimum: float | None = None
    exclusive_minimum: bool = False
    multiple_of: float | None = None
    max_length: int | None = None
    min_length: int | None = None
    max_items: int | None = None
    min_items: int | None = None
    unique_items: bool = False
    max_properties: int | None = None
    min_properties: int | None = None


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One entry of ``x-kubernetes-validations``."""

    rule: str = ""
    message: str = ""
    message_expression: str = ""
    reason: str | None = None
    field_path: str = ""
    optional_old_self: bool | None = None


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One place of a schema."""

    types: tuple[str, ...] = ()
    format: str = ""
    nullable: bool = False
    default: Any = None
    """None: there is no default."""
    properties: Mapping[str, "Node"] = {}
    defaulted: tuple[tuple[str, "Node"], ...] = ()
    """The properties that have a default of their own."""
    open: bool = False
    """``additionalProperties`` is given: other fields are allowed, of the schema `additional` if there is one."""
    closed: bool = False
    """``additionalProperties`` is false."""
    additional: "Node | None" = None
    items: "Node | None" = None
    required: tuple[str, ...] = ()
    preserve: bool = False
    embedded: bool = False
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    enum: tuple[Any, ...] = ()
    pattern: str = ""
    matcher: regexps.Pattern | None = None
    limits: Limits | None = None
    all_of: tuple["Node", ...] = ()
    any_of: tuple["Node", ...] = ()
    one_of: tuple["Node", ...] = ()
    negated: "Node | None" = None
    rules: tuple[Rule, ...] = ()
    quick: Mapping[type, int] = {}
    """Types of values that need no further look, and how many checks they pass by that (see `findings.Result`)."""
    fills: bool = False
    """Whether there is a default here or anywhere below."""
    has_rules: bool = False
    has_list_types: bool = False
    has_embedded: bool = False

    @property
    def logical(self) -> bool:
        """Whether there is anything to combine."""
        return bool(self.all_of or self.any_of or self.one_of or self.negated is not None)

    def below(self, field: str) -> "Node | None":
        """The schema of a field: its own, or that of all others."""
        return self.properties.get(field) or self.additional


EMPTY: Final = Node()


def compiled(schema: Object) -> Node:
    """The node of a JSON schema; asked again soon, it is the same one."""
    return _compiled(msgspec.json.encode(schema))


@functools.lru_cache(maxsize=8)
def _compiled(text: bytes) -> Node:
    return compile_schema(msgspec.json.decode(text))


def compile_schema(schema: Object) -> Node:
    """The node of a JSON schema and everything below it."""
    properties = {name: compile_schema(below) for name, below in (schema.get("properties") or {}).items()}
    extra = schema.get("additionalProperties")
    additional = compile_schema(extra) if isinstance(extra, dict) else None
    items = compile_schema(schema["items"]) if isinstance(schema.get("items"), dict) else None
    logic = {word: tuple(map(compile_schema, schema.get(word) or ())) for word in _LOGIC}
    skeleton = [*properties.values(), *(node for node in (additional, items) if node is not None)]
    types = _types(schema)
    rules = tuple(msgspec.convert(rule, Rule) for rule in schema.get("x-kubernetes-validations") or ())
    list_type = schema.get("x-kubernetes-list-type") or ""
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    pattern = schema.get("pattern") or ""
    limits = _limits(schema)
    form = known_format(schema.get("format") or "", types)
    judged = limits or form or pattern or schema.get("enum") or schema.get("not") or any(logic.values())
    return Node(
        types=types,
        format=form,
        nullable=bool(schema.get("nullable")),
        default=schema.get("default"),
        properties=properties,
        defaulted=tuple((name, node) for name, node in properties.items() if node.default is not None),
        open=extra is not None,
        closed=extra is False,
        additional=additional,
        items=items,
        required=tuple(schema.get("required") or ()),
        preserve=bool(schema.get("x-kubernetes-preserve-unknown-fields")),
        embedded=embedded,
        list_type=list_type,
        list_keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
        enum=tuple(schema.get("enum") or ()),
        pattern=pattern,
        matcher=_matcher(pattern),
        limits=limits,
        all_of=logic["allOf"],
        any_of=logic["anyOf"],
        one_of=logic["oneOf"],
        negated=compile_schema(schema["not"]) if isinstance(schema.get("not"), dict) else None,
        rules=rules,
        quick={} if judged or len(types) != 1 else _QUICK.get(types[0], {}),
        fills=schema.get("default") is not None or any(node.fills for node in skeleton),
        has_rules=bool(rules) or any(node.has_rules for node in skeleton),
        has_list_types=list_type in {"set", "map"} or any(node.has_list_types for node in skeleton),
        has_embedded=embedded or any(node.has_embedded for node in skeleton),
    )


def _matcher(pattern: str) -> regexps.Pattern | None:
    """The compiled pattern; one that was stored before it would have been refused turns nothing away."""
    try:
        return regexps.compiled(pattern) if pattern else None
    except regexps.WrongPattern:
        return None


def _types(schema: Object) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return INTEGER_OR_STRING
    return (schema["type"],) if schema.get("type") else ()


def _limits(schema: Object) -> Limits | None:
    found = Limits(
        maximum=_number(schema.get("maximum")),
        exclusive_maximum=bool(schema.get("exclusiveMaximum")),
        minimum=_number(schema.get("minimum")),
        exclusive_minimum=bool(schema.get("exclusiveMinimum")),
        multiple_of=_number(schema.get("multipleOf")),
        max_length=schema.get("maxLength"),
        min_length=schema.get("minLength"),
        max_items=schema.get("maxItems"),
        min_items=schema.get("minItems"),
        unique_items=bool(schema.get("uniqueItems")),
        max_properties=schema.get("maxProperties"),
        min_properties=schema.get("minProperties"),
    )
    return None if found == Limits() else found


def _number(value: float | None) -> float | None:
    """Limits of numbers are floats to upstream, whatever the schema wrote."""
    return None if value is None else float(value)
