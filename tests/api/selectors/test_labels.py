import contextlib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api import selectors

VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)

INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("a", "a"),
        ("!a", "!a"),
        (" b = 2 , a==1 ", "a==1,b=2"),
        ("a!=", "a!="),
        ("a=,b", "a=,b"),
        ("x in (foo,,baz),y,z notin ()", "x in (,baz,foo),y,z notin ()"),
        ("x in (b,)", "x in (,b)"),
        ("x in (,)", "x in ()"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("size>3,size<7", "size>3,size<7"),
        ("a\x00b", "a"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    """A selector prints with sorted keys and values, and the text reads back as an equal selector."""
    selector = selectors.parse_labels(text)
    assert str(selector) == canonical
    assert selectors.parse_labels(canonical) == selector


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        ("/x", 'unable to parse requirement: <nil>: Invalid value: "/x": prefix part must be non-empty'),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a gt 1", "unable to parse requirement: found 'gt', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("=", "found '=', expected: !, identifier, or 'end of string'"),
        ("a='x'", f"unable to parse requirement: values[0][a]: Invalid value: \"'x'\": {VALUE}"),
        (
            "a>x y",
            f'unable to parse requirement: values[0]: Invalid value: "x": {INTEGER}',
        ),
        (
            "a>9223372036854775808",
            f'unable to parse requirement: values[0]: Invalid value: "9223372036854775808": {INTEGER}',
        ),
    ],
)
def test_faults_have_upstreams_words(text: str, fault: str) -> None:
    """What cannot be read is refused with the words of apimachinery's parser."""
    with pytest.raises(selectors.SelectorFault) as caught:
        selectors.parse_labels(text)
    assert caught.value.message == fault


@pytest.mark.parametrize(
    ("text", "labels", "selected"),
    [
        ("", {}, True),
        ("a=1", {"a": "1"}, True),
        ("a=1", {}, False),
        ("a!=1", {}, True),
        ("a!=1", {"a": "1"}, False),
        ("a in (1,2)", {"a": "2"}, True),
        ("a notin (1,2)", {"a": "2"}, False),
        ("a notin (1,2)", {}, True),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("!a", {}, True),
        ("a>1", {"a": "2"}, True),
        ("a>1", {"a": "1"}, False),
        ("a<1", {"a": "-5"}, True),
        ("a<1", {"a": "x"}, False),
        ("a<1", {}, False),
        ("a=1,b", {"a": "1"}, False),
        ("a=1,b", {"a": "1", "b": "x"}, True),
    ],
)
def test_matching(text: str, labels: Mapping[str, str], selected: bool) -> None:
    """All requirements must hold; negative ones hold where the key is missing."""
    assert selectors.parse_labels(text).matches(labels) is selected


def test_objects_compile_to_the_same_selectors() -> None:
    """A LabelSelector object means what its query form means; None selects nothing, {} everything."""
    compiled = selectors.from_object(
        {
            "matchLabels": {"c": "3"},
            "matchExpressions": [
                {"key": "b", "operator": "NotIn", "values": ["y", "x"]},
                {"key": "a", "operator": "Exists"},
                {"key": "d", "operator": "DoesNotExist", "values": None},
                {"key": "e", "operator": "In", "values": ["z"]},
            ],
        }
    )
    assert str(compiled) == "a,b notin (x,y),c=3,!d,e in (z)"
    assert compiled.matches({"a": "", "c": "3", "e": "z"})
    assert selectors.from_object({}) == selectors.EVERYTHING
    assert selectors.from_object(None) is selectors.NOTHING
    assert (selectors.EVERYTHING.empty, selectors.NOTHING.empty, compiled.empty) == (True, False, False)
    assert (selectors.EVERYTHING.matches({}), selectors.NOTHING.matches({})) == (True, False)
    assert str(selectors.from_labels({"b": "not validated!", "a": "1"})) == "a=1,b=not validated!"


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ({"key": "a", "operator": "Foo"}, '"Foo" is not a valid label selector operator'),
        (
            {"key": "a b", "operator": "In"},
            (
                f"[key: Invalid value: \"a b\": {KEY}, values: Invalid value: null: for 'in', 'notin' operators, "
                f"values "
                "set can't be empty]"
            ),
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["x"]},
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
        ),
    ],
)
def test_faults_of_objects(expression: Mapping[str, object], fault: str) -> None:
    """A LabelSelector object that cannot be compiled says everything that is wrong with it."""
    with pytest.raises(selectors.SelectorFault) as caught:
        selectors.from_object({"matchExpressions": [expression]})
    assert caught.value.message == fault


@pytest.mark.parametrize(
    ("operator", "values", "fault"),
    [
        ("=", (), "values: Invalid value: null: exact-match compatibility requires one single value"),
        (
            "gt",
            ("1", "2"),
            "values: Invalid value: [\"1\",\"2\"]: for 'Gt', 'Lt' operators, exactly one value is required",
        ),
    ],
)
def test_requirements_take_as_many_values_as_their_operator(
    operator: str, values: tuple[str, ...], fault: str
) -> None:
    """A requirement built by hand is held to the same rules."""
    with pytest.raises(selectors.SelectorFault) as caught:
        selectors.requirement("a", operator, values)
    assert caught.value.message == fault


@given(st.lists(st.sampled_from([*"=!(),>< \tab1/", "in", "notin", "=="]), max_size=12))
def test_any_text_is_read_or_refused(parts: list[str]) -> None:
    """Whatever is asked, the answer is a selector whose text reads back, or a SelectorFault."""
    text = "".join(parts)
    with contextlib.suppress(selectors.SelectorFault):
        selector = selectors.parse_labels(text)
        assert selectors.parse_labels(str(selector)) == selector
