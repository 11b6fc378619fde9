import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api.patch import merge
from flexlet.api.patch.documents import Document
from flexlet.api.patch.errors import PatchMalformed

SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "x", "y"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc~/"), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4)


def test_rfc_7386_cases() -> None:
    """The examples of the RFC's appendix that have objects on both sides."""
    cases: list[tuple[Any, Any, Any]] = [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ]
    assert [merge.apply(original, patch) for original, patch, _ in cases] == [merged for *_, merged in cases]


def test_nulls_inside_lists() -> None:
    """A list that replaces nothing loses the nulls of its objects; one that replaces an object keeps them."""
    patch = {"a": [{"b": None, "c": 1}, None]}
    assert merge.apply({}, patch) == {"a": [{"c": 1}, None]}
    assert merge.apply({"a": {"x": 1}}, patch) == patch


@given(OBJECTS, OBJECTS)
def test_merging_is_idempotent_and_leaves_its_arguments_alone(
    original: dict[str, Any], patch: dict[str, Any]
) -> None:
    """Applied twice, a merge patch changes nothing more but nulls, and never what it was given."""
    before = copy.deepcopy((original, patch))
    once = merge.apply(original, patch)
    assert merge.without_nulls(merge.apply(once, patch)) == merge.without_nulls(once)
    assert (original, patch) == before


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"{bad", "error decoding patch: invalid character 'b' looking for beginning of object key string"),
        (
            b"[]",
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (b"null", "Invalid JSON Patch"),
    ],
)
def test_what_is_no_merge_patch(body: bytes, fault: str) -> None:
    """Anything but an object is refused."""
    with pytest.raises(PatchMalformed) as caught:
        merge.read(body)
    assert caught.value.message == fault


def test_reading_a_merge_patch() -> None:
    """Keys written twice are complained about, if anybody wants to know."""
    body = b'{"data": {"a": 1.5, "a": true, "b": null}}'
    value = {"data": {"a": True, "b": None}}
    assert merge.read(body) == Document(value, ('duplicate field "data.a"',))
    assert merge.read(body, checked=False) == Document(value)
