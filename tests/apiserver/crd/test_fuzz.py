"""Any JSON against any small schema: findings, never faults; and the laws of shaping."""

from typing import Any

import msgspec
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.apiserver.crd.definitions import Object, around, created, definition, kind_of, updated, version, widget

from flexlet.api.fielderrors import FieldError
from flexlet.api.schema import Unreadable
from flexlet.apiserver.crd import shaping
from flexlet.apiserver.crd.defaultcheck import check_defaults
from flexlet.apiserver.crd.definition import define
from flexlet.apiserver.crd.node import Node, compile_schema

NAMES = st.sampled_from(["a", "b", "c", "apiVersion", "kind", "metadata"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "a", "ab", "2024-01-01T00:00:00Z", "1h", "10.0.0.1", "\x00", "é", "a" * 70]),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "minimum": st.floats(-10, 10),
        "maximum": st.integers(-10, 10),
        "exclusiveMaximum": st.booleans(),
        "multipleOf": st.sampled_from([0, 1, 0.5, 3]),
        "minLength": st.integers(0, 3),
        "maxLength": st.integers(0, 3),
        "pattern": st.sampled_from(["^a", "b$", r"\d", "[[:alpha:]]"]),
        "format": st.sampled_from(["date-time", "duration", "ipv4", "int32", "float", "uri", "nosuch", "byte"]),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "uniqueItems": st.booleans(),
        "minProperties": st.integers(0, 2),
        "maxProperties": st.integers(0, 2),
        "enum": st.lists(JSON, min_size=1, max_size=3),
        "nullable": st.booleans(),
        "required": st.lists(NAMES, max_size=2),
    },
)


def _typed(kind: str, **more: Any) -> st.SearchStrategy[Object]:
    return LIMITS.map(lambda limits: {"type": kind, **limits, **more})


def _larger(inner: st.SearchStrategy[Object]) -> st.SearchStrategy[Object]:
    logic = st.lists(LIMITS, min_size=1, max_size=2)
    return st.one_of(
        st.builds(
            lambda limits, properties: {"type": "object", **limits, "properties": properties},
            LIMITS,
            st.dictionaries(NAMES, inner, max_size=3),
        ),
        st.builds(
            lambda limits, below: {"type": "object", **limits, "additionalProperties": below}, LIMITS, inner
        ),
        st.builds(
            lambda limits, items, kind: {
                "type": "array",
                **limits,
                "items": items,
                "x-kubernetes-list-type": kind,
            },
            LIMITS,
            inner,
            st.sampled_from(["atomic", "set"]),
        ),
        st.builds(
            lambda below, word, parts: {**below, word: parts}, inner, st.sampled_from(["anyOf", "oneOf"]), logic
        ),
        st.builds(lambda below, part: {**below, "not": part}, inner, LIMITS),
        st.builds(lambda below, value: {**below, "default": value}, inner, JSON),
    )


SCHEMAS = st.recursive(
    st.one_of(
        *map(_typed, ("string", "integer", "number", "boolean")),
        st.just({"x-kubernetes-int-or-string": True}),
        st.just({"x-kubernetes-preserve-unknown-fields": True}),
        st.just(
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            }
        ),
    ),
    _larger,
    max_leaves=5,
)
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@QUICK
@given(SCHEMAS, JSON, JSON)
def test_any_value_gets_findings_and_never_a_fault(schema: Object, first: Any, second: Any) -> None:
    kind = kind_of(around(schema))
    try:
        old, errors, _ = created(kind, widget(spec={"f": first}))
        old["metadata"] |= {"uid": "u", "resourceVersion": "1"}
        new, changes = updated(kind, {**widget(spec={"f": second}), "metadata": dict(old["metadata"])}, old)
    except Unreadable:
        return
    assert all(isinstance(error, FieldError) for error in (*errors, *changes))
    assert kind.strategy.cells(new, 0.0)[0] == "w"


@QUICK
@given(SCHEMAS, JSON)
def test_shaping_twice_is_shaping_once(schema: Object, value: Any) -> None:
    """What was pruned and defaulted stays as it is, so that a stored object never changes by being read."""
    kind = kind_of(around(schema))
    assume(_is_right(compile_schema(schema)))
    try:
        once, _, _ = created(kind, widget(spec={"f": value}))
        twice, _, complaints = created(kind, once)
    except Unreadable:
        return
    assert (twice, complaints) == (once, [])


def _is_right(node: Node) -> bool:
    """Whether its defaults are values that it takes itself.

    No other schema gets into the store, except for defaults below ``additionalProperties``, which nobody checks,
    as upstream: those bring values that the schema refuses.
    """
    return not any(check_defaults(node, "f")) and all(map(_is_right, _below(node)))


@QUICK
@given(SCHEMAS, JSON)
def test_an_unchanged_object_is_never_refused_for_its_values(schema: Object, value: Any) -> None:
    """What stands there may stay, whatever the schema says today, if the schema knows all of it."""
    kind = kind_of(around(schema))
    assume(_is_right(compile_schema(schema)) and _knows_all(compile_schema(schema)))
    try:
        old, _, _ = created(kind, widget(spec={"f": value}))
    except Unreadable:
        return
    old["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    _, errors = updated(kind, old, old)
    assert errors == []


def _knows_all(node: Node) -> bool:
    return not node.preserve and all(_knows_all(inner) for inner in _below(node))


def _below(node: Node) -> list[Node]:
    extra = (inner for inner in (node.additional, node.items) if inner is not None)
    return [*node.properties.values(), *extra]


@QUICK
@given(JSON)
def test_every_version_tells_the_same_story(value: Any) -> None:
    """Without conversion an object is the same in every version, but for its apiVersion."""
    schema = around({"x-kubernetes-preserve-unknown-fields": True})
    made = define(definition(version(schema), version(schema, name="v2")))
    newer, older = made.served
    obj = msgspec.json.decode(msgspec.json.encode(widget(spec={"f": value})))
    shaping.drop_nulls(obj, compile_schema(schema))
    there = newer.strategy.from_storage({**obj})
    assert there == {**obj, "apiVersion": newer.api_version}
    assert newer.strategy.to_storage(there) == {**obj, "apiVersion": older.api_version}
