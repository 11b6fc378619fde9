"""CEL: the language, transitions, messages."""

from typing import Any

import pytest
from tests.apiserver.crd.definitions import (
    Object,
    around,
    causes,
    created,
    kind_of,
    updated,
    widget,
)

from flexlet.apiserver.crd.cel.compiler import Compiled
from flexlet.apiserver.crd.cel.scope import Scope
from flexlet.apiserver.crd.cel.syntax import Unsupported, WrongExpression
from flexlet.apiserver.crd.cel.values import CelError


def evaluated(text: str, **variables: Any) -> Any:
    return Compiled(text).evaluate(Scope({"self": None, "oldSelf": None, **variables}))


def _doubled(times: int) -> str:
    text = "self.wide"
    for turn in range(times):
        text = f"[{text}].map(d{turn}, d{turn} + d{turn})[0]"
    return text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 4 / 2", 5),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("7 % -3", 1),
        ("1 < 1.5 && 2 >= 2", True),
        ("true || self.nope", True),
        ("self.nope || true", True),
        ("false && self.nope", False),
        ("[1, 2, 3].all(x, x > 0)", True),
        ("[0, 1].exists(x, 1 / x == 1)", True),
        ("[1, 2, 3].filter(x, x > 1).map(x, x * 2)", [4, 6]),
        ("[1, 2, 3].map(x, x > 1, x * 2)", [4, 6]),
        ("{'a': 1, 'b': 2}.exists_one(k, k == 'a')", True),
        ("['a', 'b'].all(i, v, i < 2 && v != 'c')", True),
        ("true == 1", False),
        ("1 == 1.0", True),
        ("'a' in ['b'] ? 1 : 2", 2),
        ("size('é') + size([1]) + size({'k': 1})", 3),
        (r"'a\n\x41\u00e9' + r'\n'", "a\nAé\\n"),
        ('"""x"y"""', 'x"y'),
        ("duration('1h30m') > duration('89m')", True),
        ("timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') == duration('24h')", True),
        ("'%s has %d'.format(['a', 2])", "a has 2"),
        ("quantity('1Gi').isGreaterThan(quantity('1G'))", True),
        ("quantity('8193Mi').isInteger() && quantity('8193Mi').asInteger() % 2097152 == 1048576", True),
        ("quantity('1500m').isInteger()", False),
        ("optional.none().orValue(3)", 3),
        ("{'a': {}}.?a.?b.hasValue()", False),
        ("type(1) == int && type('') != int", True),
        ("0x10", 16),
        ("!(1 in [2])", True),
        ("// a remark\n1", 1),
    ],
)
def test_an_expression_has_a_value(text: str, value: Any) -> None:
    assert evaluated(text) == value


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1 / 0", "division by zero"),
        ("1 % 0", "modulus by zero"),
        ("quantity('1.5').asInteger()", "cannot convert value to integer"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("[1][1]", "index out of bounds: 1"),
        ("{'a': 1}['b']", "no such key: b"),
        ("{'a': 1}.b", "no such key: b"),
        ("1 + 'a'", "no such overload"),
        ("'a' < 1", "no such overload"),
        ("1 ? 2 : 3", "no such overload"),
        ("'a'.startsWith(1)", "no such overload"),
        ("'a'.matches('(')", "error parsing regexp: missing closing ): `(`"),
        ("optional.none().value()", "optional.none() dereference"),
        ("int('x')", "type conversion error from 'string' to 'int'"),
        ("[].max()", "max called on empty list"),
    ],
)
def test_an_expression_may_have_no_value(text: str, fault: str) -> None:
    with pytest.raises(CelError) as found:
        evaluated(text)
    assert str(found.value) == fault


def test_a_loop_that_does_not_end_in_time_is_cut_off() -> None:
    many = list(range(1000))
    with pytest.raises(CelError, match="operation cancelled"):
        evaluated("self.all(a, self.all(b, self.all(c, a + b + c >= 0)))", self=many)


@pytest.mark.parametrize("text", ["", "1 +", "(1", "a", "self.", "'x", "has(self)", "[1,,2]", "1 2", "#", r"'\q'"])
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(WrongExpression):
        Compiled(text)


@pytest.mark.parametrize("text", ["nosuch(1)", "self.nosuch()", "Widget{a: 1}", "semver('1.0.0').major() == 1"])
def test_what_is_not_evaluated(text: str) -> None:
    with pytest.raises(Unsupported):
        Compiled(text)


def ruled(field: Object, *rules: Object) -> Any:
    return kind_of(around({**field, "x-kubernetes-validations": list(rules)}))


def changed(kind: Any, old: Any, new: Any) -> list[list[str]]:
    before, after = widget(spec={"f": old}), widget(spec={"f": new})
    for obj in (before, after):
        obj["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    return causes(updated(kind, after, before)[1])


def test_a_transition_is_asked_only_if_there_was_something() -> None:
    kind = ruled({"type": "string"}, {"rule": "self == oldSelf", "message": " fixed "})
    assert created(kind, widget(spec={"f": "a"}))[1] == []
    assert changed(kind, "a", "a") == []
    assert changed(kind, "a", "b") == [["spec.f", "FieldValueInvalid", 'Invalid value: "b": fixed']]


def test_an_optional_old_value_is_asked_always() -> None:
    rule = {"rule": "oldSelf.hasValue() ? self >= oldSelf.value() : self == 0", "optionalOldSelf": True}
    kind = ruled({"type": "integer"}, rule)
    found = [["spec.f", "FieldValueInvalid", f"Invalid value: 3: failed rule: {rule['rule']}"]]
    assert causes(created(kind, widget(spec={"f": 3}))[1]) == found
    assert changed(kind, 5, 3) == found
    assert changed(kind, 2, 3) == []


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({}, ["spec.f", "FieldValueInvalid", "Invalid value: failed rule: false"]),
        ({"message": "no"}, ["spec.f", "FieldValueInvalid", "Invalid value: no"]),
        (
            {"messageExpression": "'not ' + string(self.a)", "message": "no"},
            ["spec.f", "FieldValueInvalid", "Invalid value: not 1"],
        ),
        ({"messageExpression": "self.b", "message": "no"}, ["spec.f", "FieldValueInvalid", "Invalid value: no"]),
        ({"messageExpression": "'a\\nb'"}, ["spec.f", "FieldValueInvalid", "Invalid value: failed rule: false"]),
        ({"reason": "FieldValueForbidden", "message": "no"}, ["spec.f", "FieldValueForbidden", "Forbidden: no"]),
        (
            {"reason": "FieldValueRequired", "message": "no"},
            ["spec.f", "FieldValueRequired", "Required value: no"],
        ),
        ({"reason": "FieldValueDuplicate"}, ["spec.f", "FieldValueDuplicate", "Duplicate value"]),
        (
            {"fieldPath": ".m['k']", "message": "no"},
            ["spec.f.m[k]", "FieldValueInvalid", "Invalid value: no"],
        ),
        ({"fieldPath": "['a']", "message": "no"}, ["spec.f.a", "FieldValueInvalid", "Invalid value: no"]),
    ],
)
def test_a_broken_rule_says_what_it_was_told_to_say(rule: Object, expected: list[str]) -> None:
    inner = {"type": "object", "additionalProperties": {"type": "string"}}
    field = {"type": "object", "properties": {"a": {"type": "integer"}, "m": inner}}
    kind = ruled(field, {"rule": "false", **rule})
    assert causes(created(kind, widget(spec={"f": {"a": 1}}))[1]) == [expected]


def test_rules_stand_at_every_place_of_a_schema() -> None:
    small = {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 3"}]}
    items = {"type": "object", "properties": {"n": small}}
    properties = {
        "list": {"type": "array", "items": items},
        "map": {"type": "object", "additionalProperties": small},
        "both": {"type": "integer", "allOf": [{"x-kubernetes-validations": [{"rule": "self > 5"}]}]},
        "plain": small,
    }
    kind = kind_of(around({"type": "object", "properties": properties}))
    value = {"list": [{"n": 1}, {"n": 4}], "map": {"k": 5}, "both": 5, "plain": 6}
    _, errors, _ = created(kind, widget(spec={"f": value}))
    assert sorted(error.field for error in errors) == [
        *("spec.f.both", "spec.f.list[1].n"),
        *("spec.f.map[k]", "spec.f.plain"),
    ]


def test_what_was_broken_before_is_a_warning() -> None:
    properties = {
        "a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 3"}]},
        "b": {"type": "integer"},
    }
    kind = kind_of(around({"type": "object", "properties": properties}))
    old, new = (widget(spec={"f": {"a": 9, "b": b}}) for b in (1, 2))
    for obj in (old, new):
        obj["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    assert updated(kind, new, old)[1] == []
    assert kind.strategy.warnings_on_update(new, old) == ["spec.f.a: Invalid value: 9: failed rule: self < 3"]


def test_rules_wait_for_an_object_that_is_right_otherwise() -> None:
    kind = ruled({"type": "integer", "maximum": 5}, {"rule": "self < 3"})
    text = (
        "Invalid value: null: some validation rules were not checked because the object was invalid; correct the "
        "existing errors to complete validation"
    )
    wrong = 'Invalid value: "string": spec.f in body must be of type integer: "string"'
    assert causes(created(kind, widget(spec={"f": "x"}))[1]) == [
        ["<nil>", "FieldValueInvalid", text],
        ["spec.f", "FieldValueTypeInvalid", wrong],
    ]
    assert [error.field for error in created(kind, widget(spec={"f": 9}))[1]] == ["spec.f", "spec.f"]


@pytest.mark.parametrize(
    "text",
    [
        "!" * 50_000 + "true",
        "self" + ".a" * 40_000,
        "1" + "+1" * 40_000,
        "[" * 50_000,
        "(" * 90 + "1" + ")" * 90 + "+1" * 5000,
        "9" * 5000,
        r"'\U99999999'",
        "1" + " " * 100_000,
    ],
)
def test_no_expression_exhausts_the_stack(text: str) -> None:
    with pytest.raises(WrongExpression):
        Compiled(text)


@pytest.mark.parametrize(
    "text",
    [
        # Each turn doubles the text: 2 to the 30th bytes, were it not cut off.
        "".join(f"['xxxx'].map(a{n}, a{n} + a{n})[0] + " for n in range(3)) + _doubled(30),
        "'x'.replace('', self.wide).replace('', self.wide)",
        "self.items.map(i, self.wide + self.wide).size() > 0",
        "self.items.all(i, self.items.all(j, i in self.items))",
        "self.items.distinct().size() > 0",
        "sets.contains(self.items, self.items)",
        "self.items.all(i, self.wide.matches('(a|b|ab)*b'))",
        "'%s'.format([self.items.map(i, self.wide).join(self.wide)]) == ''",
    ],
)
def test_a_rule_that_reads_or_builds_too_much_is_cut_off(text: str) -> None:
    me = {"items": list(range(20_000)), "wide": "ab" * 20_000}
    with pytest.raises(CelError, match="operation cancelled: actual cost limit exceeded"):
        evaluated(text, self=me)


@pytest.mark.parametrize("text", ["'%.999999999f'.format([1.0])", "self.matches('[')", "self.findAll('(?=x)')"])
def test_what_a_function_cannot_do_is_an_error_of_the_rule(text: str) -> None:
    with pytest.raises(CelError):
        evaluated(text, self="x")
