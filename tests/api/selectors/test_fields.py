from collections.abc import Mapping

import pytest

from flexlet.api import selectors
from flexlet.api.selectors import FieldRequirement, FieldSelector


@pytest.mark.parametrize(
    ("text", "selector", "canonical"),
    [
        ("", FieldSelector(), ""),
        (",,", FieldSelector(), ""),
        ("b=1,a==2", FieldSelector((FieldRequirement("a", "2"), FieldRequirement("b", "1"))), "a=2,b=1"),
        ("a!=", FieldSelector((FieldRequirement("a", "", negated=True),)), "a!="),
        (r"a=x\,y\=\\", FieldSelector((FieldRequirement("a", "x,y=\\"),)), r"a=x\,y\=\\"),
    ],
)
def test_reading(text: str, selector: FieldSelector, canonical: str) -> None:
    """Terms are sorted; a backslash keeps commas and equal signs in values."""
    assert selectors.parse_fields(text) == selector
    assert str(selector) == canonical
    assert selector.empty is (not selector.requirements)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a=1,b", "invalid selector: 'a=1,b'; can't understand 'b'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=b\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_faults_have_upstreams_words(text: str, fault: str) -> None:
    """What cannot be read is refused with the words of apimachinery's parser."""
    with pytest.raises(selectors.SelectorFault) as caught:
        selectors.parse_fields(text)
    assert caught.value.message == fault


@pytest.mark.parametrize(
    ("text", "fields", "selected"),
    [
        ("", {}, True),
        ("a=1", {"a": "1"}, True),
        ("a=1", {}, False),
        ("a=", {}, True),
        ("a!=1", {}, True),
        ("a!=1,b=2", {"a": "1", "b": "2"}, False),
    ],
)
def test_matching(text: str, fields: Mapping[str, str], selected: bool) -> None:
    """All terms must hold; a missing field is an empty one."""
    assert selectors.parse_fields(text).matches(fields) is selected


def test_exact_and_renamed() -> None:
    """A kind can ask for a field's only value, translate fields, and drop terms."""
    selector = selectors.parse_fields("metadata.name=web,status.phase!=Running,drop=me")
    assert (selector.exact("metadata.name"), selector.exact("status.phase"), selector.exact("x")) == (
        "web",
        None,
        None,
    )
    renamed = selector.renamed(lambda field, value: ("", "") if field == "drop" else (field.upper(), value))
    assert str(renamed) == "METADATA.NAME=web,STATUS.PHASE!=Running"
