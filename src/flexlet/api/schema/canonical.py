"""Objects in the form the server stores and shows: what Go writes after reading.

Go drops empty values of fields that are neither pointers nor required, always shows required ones and struct
values (``status: {}``, ``rules: null``), and writes quantities and times in one spelling. A rule for every
type is built once from the schema's tables; applying it costs a look at each key.

The value given must have the right shape (`shapes` or `exact` have seen it). It is never changed: what needs no
change is shared with the result. Applying a rule twice changes nothing more.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from flexlet.api.schema import scalars
from flexlet.api.schema.types import Field, ListOf, MapOf, Scalar, SchemaOr, Shape, Type

Rule = Callable[[Any], Any]

_FREE: Final = frozenset({"meta.FieldsV1", "apiextensions.v1.JSON"})


class _Tables(msgspec.Struct, frozen=True):
    """What a type does with its fields, by name."""

    rules: dict[str, Rule]
    hidden: frozenset[str]
    """Not shown when empty."""
    plain: frozenset[str]
    """Become null when empty (and then are hidden or not) without being read."""
    shown: tuple[tuple[str, Callable[[], Any]], ...]
    """Always shown, with what stands in for a missing value."""
    null: frozenset[str]
    """Those of them for which null stands in."""


@functools.cache
def rule_of(shape: Type) -> Rule:
    """The function that brings values of a type into their stored form."""
    # Types may contain themselves, so the tables are made when the rule is first used.
    tables: _Tables | None = None

    def canonical(value: dict[str, Any]) -> dict[str, Any]:
        nonlocal tables
        if tables is None:
            tables = _tables(shape)
        rules = tables.rules
        changes: dict[str, Any] = {}
        for key, item in value.items():
            if item:
                rule = rules.get(key)
                if rule is not None and (new := rule(item)) is not item:
                    changes[key] = new
            elif item is None:
                if key not in tables.null:
                    changes[key] = None
            elif key in tables.plain:
                changes[key] = None
            elif key in rules and (new := rules[key](item)) is not item:
                changes[key] = new
        for key, empty in tables.shown:
            if value.get(key) is None and (key not in value or key not in tables.null):
                changes[key] = empty()
        return _changed(value, changes, tables) if changes else value

    return canonical


def _changed(value: dict[str, Any], changes: dict[str, Any], tables: _Tables) -> dict[str, Any]:
    result = {**value, **changes}
    for key, new in changes.items():
        if (new is None and key not in tables.null) or (not new and key in tables.hidden):
            del result[key]
    return result


def _tables(shape: Type) -> _Tables:
    fields = shape.fields.items()
    shown = tuple((name, _empty(field)) for name, field in fields if field.kept)
    hidden = frozenset(name for name, field in fields if _vanishes(field))
    return _Tables(
        rules={name: rule for name, field in fields if (rule := _rule(field.shape)) is not None},
        hidden=hidden,
        plain=frozenset(name for name, field in fields if _is_plain(shape, field)),
        shown=shown,
        null=frozenset(name for name, empty in shown if empty() is None),
    )


def _is_plain(owner: Type, field: Field) -> bool:
    if isinstance(field.shape, Scalar) and field.shape.name in scalars.CODECS:
        return False
    # Storage does not tell empty lists from missing ones, except for definitions, which are stored as JSON.
    stored_as_null = isinstance(field.shape, ListOf | MapOf) and not owner.name.startswith("apiextensions")
    return _vanishes(field) or (field.kept and stored_as_null)


def _vanishes(field: Field) -> bool:
    """Whether the field is not shown when it is empty: pointers are shown, ``omitempty`` values are not."""
    if field.kept:
        return False
    return not field.pointer or isinstance(field.shape, ListOf | MapOf)


def _empty(field: Field) -> Callable[[], Any]:
    """Makes what is shown for a field that is not set; a new value each time, callers may change it."""
    shape = field.shape
    if isinstance(shape, Type) and not field.pointer:
        rule = rule_of(shape)
        return lambda: rule({})
    value = scalars.zero(shape.name) if isinstance(shape, Scalar) and not field.pointer else None
    return lambda: value


def _rule(shape: Shape) -> Rule | None:
    if isinstance(shape, Type):
        return rule_of(shape)
    if isinstance(shape, ListOf):
        inner = _rule(shape.item)
        return None if inner is None else _each_item(inner)
    if isinstance(shape, MapOf):
        inner = _rule(shape.value)
        return None if inner is None else _each_value(inner)
    if isinstance(shape, SchemaOr):
        return _schema_rule(shape)
    codec = scalars.CODECS.get(shape.name)
    return None if codec is None or shape.name in _FREE else _spelling(codec.read)


def _spelling(read: Rule) -> Rule:
    def canonical(value: Any) -> Any:
        new = read(value)
        return value if new == value else new

    return canonical


def _each(rule: Rule, places: Callable[[Any], Iterable[tuple[Any, Any]]], copy: Callable[[Any], Any]) -> Rule:
    """A rule for all members of a list or a map, which is copied only when one of them changes."""

    def canonical(members: Any) -> Any:
        result = members
        for place, member in places(members):
            new = member if member is None else rule(member)
            if new is not member:
                if result is members:
                    result = copy(members)
                result[place] = new
        return result

    return canonical


def _each_item(rule: Rule) -> Rule:
    return _each(rule, enumerate, list)


def _each_value(rule: Rule) -> Rule:
    return _each(rule, dict.items, dict)


def _schema_rule(shape: SchemaOr) -> Rule:
    schema = rule_of(shape.schema)
    inner = None if shape.item is None else _rule(shape.item)
    each = None if inner is None else _each_item(inner)

    def canonical(value: Any) -> Any:
        if isinstance(value, dict):
            return schema(value)
        return each(value) if each is not None and isinstance(value, list) else value

    return canonical
