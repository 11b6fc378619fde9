import copy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.api.patch import json_patch
from flexlet.api.patch.documents import Document
from flexlet.api.patch.errors import PatchFailed, PatchMalformed, PatchTooLarge

SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "x", "y"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc~/"), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4)

DOCUMENT = {"a": {"b": [1, 2, 3], "n": None}, "x": "y", "m/n~": 0}


def with_list(*items: int) -> dict[str, Any]:
    return {**DOCUMENT, "a": {"b": list(items), "n": None}}


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([], DOCUMENT),
        ([{"op": "add", "path": "/a/c", "value": 1}], {**DOCUMENT, "a": {"b": [1, 2, 3], "n": None, "c": 1}}),
        ([{"op": "add", "path": "/a/b/-", "value": 4}, {"op": "remove", "path": "/a/b/0"}], with_list(2, 3, 4)),
        ([{"op": "add", "path": "/a/b/1", "value": 9}], with_list(1, 9, 2, 3)),
        ([{"op": "add", "path": "/a/b/-1", "value": 9}], with_list(1, 2, 3, 9)),
        ([{"op": "replace", "path": "/a/b/-1", "value": 9}], with_list(1, 2, 9)),
        ([{"op": "replace", "path": "/new", "value": 1}], {**DOCUMENT, "new": 1}),
        ([{"op": "replace", "path": "", "value": {"z": 1}}], {"z": 1}),
        ([{"op": "remove", "path": "/m~1n~0"}, {"op": "remove", "path": "/a"}], {"x": "y"}),
        ([{"op": "move", "from": "/a/b", "path": "/b"}], {"a": {"n": None}, "x": "y", "m/n~": 0, "b": [1, 2, 3]}),
        ([{"op": "copy", "from": "/a/b/0", "path": "/a/b/-"}], with_list(1, 2, 3, 1)),
        ([{"op": "copy", "from": "/none", "path": "/copied"}], {**DOCUMENT, "copied": None}),
        ([{"op": "add", "path": "/valueless"}], {**DOCUMENT, "valueless": None}),
        ([{"op": "add", "path": "skipped/k", "value": 1}], {**DOCUMENT, "k": 1}),
        (
            [{"op": "test", "path": "/a/b", "value": [1, 2, 3]}, {"op": "test", "path": "", "value": DOCUMENT}],
            DOCUMENT,
        ),
        ([{"op": "test", "path": "/none"}, {"op": "test", "path": "/a/n", "value": None}], DOCUMENT),
    ],
)
def test_operations(operations: list[dict[str, Any]], result: dict[str, Any]) -> None:
    """Operations do what upstream's library does, without touching the original."""
    before = copy.deepcopy(DOCUMENT)
    assert json_patch.apply(DOCUMENT, operations) == result
    assert before == DOCUMENT


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "frob", "path": "/a"},
        {"path": "/a"},
        {"op": "add", "value": 1},
        {"op": "add", "path": "", "value": 1},
        {"op": "add", "path": "/none/x", "value": 1},
        {"op": "add", "path": "/a/n/x", "value": 1},
        {"op": "add", "path": "/x/y", "value": 1},
        {"op": "add", "path": "/a/b/5", "value": 1},
        {"op": "add", "path": "/a/b/-5", "value": 1},
        {"op": "add", "path": "/a/b/x", "value": 1},
        {"op": "remove", "path": "/none"},
        {"op": "remove", "path": "/a/b/3"},
        {"op": "replace", "path": "/a/b/-", "value": 1},
        {"op": "replace", "path": "", "value": "scalar"},
        {"op": "move", "from": "/none", "path": "/a"},
        {"op": "move", "path": "/a"},
        {"op": "copy", "from": "/a/b/9", "path": "/c"},
        {"op": "test", "path": "/x", "value": "z"},
        {"op": "test", "path": "/x"},
        {"op": "test", "path": "/a/b/0", "value": True},
        {"op": "test", "path": "/a/b/0", "value": 1.0},
        {"op": "test", "path": "/a/b", "value": [1, 2]},
        {"op": "test", "path": "/a", "value": {"b": [1, 2, 3]}},
    ],
    ids=str,
)
def test_operations_that_do_not_apply(operation: dict[str, Any]) -> None:
    """An operation that does not apply fails the whole patch."""
    with pytest.raises(PatchFailed) as caught:
        json_patch.apply(DOCUMENT, [{"op": "test", "path": "/x", "value": "y"}, operation])
    assert caught.value.code == 422


@given(OBJECTS, OBJECTS)
def test_patches_of_another_library_lead_where_they_should(source: dict[str, Any], target: dict[str, Any]) -> None:
    """A patch made elsewhere from two documents turns the one into the other."""
    operations = jsonpatch.make_patch(source, target).patch
    assert json_patch.apply(source, operations) == target


def test_reading_a_json_patch() -> None:
    """Fields an operation does not have, and keys written twice, are complained about."""
    body = b'[{"op":"add","path":"/a","value":{"x":1,"x":2},"extra":1},{"op":"test","op":"add","path":"/b"}]'
    operations = [
        {"op": "add", "path": "/a", "value": {"x": 2}, "extra": 1},
        {"op": "add", "path": "/b"},
    ]
    complaints = tuple(
        f"json patch {text}"
        for text in (
            'duplicate field "[0].value.x"',
            'unknown field "[0].extra"',
            'duplicate field "[1].op"',
        )
    )
    assert json_patch.read(body) == Document(operations, complaints)
    assert json_patch.read(body, checked=False) == Document(operations)
    assert json_patch.read(b"null") == Document([])


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"{}", "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (b"[1]", "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (b'[{"op":1}]', "json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        (b"[", "unexpected end of JSON input"),
    ],
)
def test_what_is_no_json_patch(body: bytes, fault: str) -> None:
    """Anything but a list of operations is refused."""
    with pytest.raises(PatchMalformed) as caught:
        json_patch.read(body)
    assert caught.value.message == f"error decoding patch: {fault}"


def test_a_patch_has_a_limit() -> None:
    """More than ten thousand operations are too many."""
    with pytest.raises(PatchTooLarge) as caught:
        json_patch.read(b"[" + b",".join([b'{"op":"test","path":"/a"}'] * 10_001) + b"]")
    assert caught.value.message == "The allowed maximum operations in a JSON patch is 10000, got 10001"


def test_touched_lists_are_shown_whole() -> None:
    """A shown document sorts the keys of objects on the way to a change, inside lists as well."""
    document = {"b": [{"d": 1, "c": 2}, {"z": 1, "y": 1}], "a": {"z": 1, "y": 2}}
    operations = [
        {"op": "replace", "path": "/b/0/d", "value": 5},
        {"op": "replace", "path": "/a/z/q", "value": 1},
    ][:1]
    assert json_patch.text(document, operations) == '{"a":{"z":1,"y":2},"b":[{"c":2,"d":5},{"z":1,"y":1}]}'
    moved = [{"op": "replace", "path": "/a", "value": 1}, {"op": "test", "path": "/b/0/d", "value": 1}]
    moved.append({"op": "replace", "path": "/b", "value": 7})
    assert json_patch.text(document, moved) == '{"a":1,"b":7}'


def test_what_is_copied_and_the_document_are_changed_apart() -> None:
    original = {"a": {"b": {"c": 1}}}
    operations: list[dict[str, Any]] = [
        {"op": "add", "path": "/a/b/d", "value": 2},
        {"op": "copy", "from": "/a/b", "path": "/a/e"},
        {"op": "add", "path": "/a/b/f", "value": 3},
        {"op": "replace", "path": "/a/e/c", "value": 4},
        {"op": "copy", "from": "/a", "path": "/a/g"},
    ]
    inner = {"b": {"c": 1, "d": 2, "f": 3}, "e": {"c": 4, "d": 2}}
    assert json_patch.apply(original, operations) == {"a": {**inner, "g": inner}}
    assert original == {"a": {"b": {"c": 1}}}


def test_copies_that_double_a_document_are_refused() -> None:
    operations = [{"op": "copy", "from": "/a", "path": f"/a/c{n}"} for n in range(40)]
    with pytest.raises(PatchFailed):
        json_patch.apply({"a": {"b": "x" * 10}}, operations)


def test_what_is_copied_is_counted_in_bytes() -> None:
    """Three mebibytes may be copied, quotes included, and not one byte more."""
    original = {"a": "x" * (3 * 1024 * 1024 - 2)}
    copy = {"op": "copy", "from": "/a", "path": "/b"}
    assert json_patch.apply(original, [copy]) == {"a": original["a"], "b": original["a"]}
    with pytest.raises(PatchFailed) as refused:
        json_patch.apply({"a": original["a"] + "x"}, [copy])
    text = "the accumulated size increase of copy is 3145729, exceeding the limit 3145728"
    assert refused.value.message == f"Unable to complete the copy, {text}"


def test_a_document_does_not_grow_deeper_than_a_body_may_be() -> None:
    operations = [{"op": "add", "path": "/a" * (n + 1), "value": {}} for n in range(1000)]
    with pytest.raises(PatchFailed):
        json_patch.apply({}, operations)


def test_ten_thousand_operations_on_a_wide_map_copy_it_once() -> None:
    """Copied for each of them it takes most of a minute."""
    original = {"data": {str(n): "" for n in range(100_000)}}
    operations = [{"op": "add", "path": f"/data/x{n}", "value": 1} for n in range(10_000)]
    assert len(json_patch.apply(original, operations)["data"]) == 110_000
    assert len(original["data"]) == 100_000
