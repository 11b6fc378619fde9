"""Paths that are none, and paths that make no sense for a value."""

import pytest

from flexlet.apiserver.crd import jsonpath
from flexlet.errors import InputError


@pytest.mark.parametrize(
    "text", [".a[", ".a['x]", ".a[?(@.b==1]", ".a[?(@.b=<1)]", ".a[x]", ".a b", ".a[::0]", "#", ".a[?(@.b=='x)]"]
)
def test_what_is_no_path(text: str) -> None:
    with pytest.raises(InputError):
        jsonpath.parse(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".a[0]", {"a": "text"}),
        (".a[3]", {"a": [1]}),
        (".a[?(@.b==1)]", {"a": {"b": 1}}),
        (".a[?(@.b>1)].b", {"a": [{"b": "x"}]}),
        (".a[?(@.b>true)].b", {"a": [{"b": True}]}),
        (".a[?(@[*]==1)]", {"a": [[1, 2]]}),
    ],
)
def test_what_makes_no_sense_is_a_fault(text: str, value: object) -> None:
    with pytest.raises(InputError):
        jsonpath.parse(text)(value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (".a.b", []),
        (".list[-1]", [3]),
        (".list[1:]", [2, 3]),
        (".list[0:3:2]", [1, 3]),
        (".list[0,2]", [1, 3]),
        (".list[*]", [1, 2, 3]),
        (".rows[?(@.k=='y')].v", [2]),
        ('.rows[?(@.k != "y")].v', [1]),
        (".rows[?(@.v<=1)].k", ["x"]),
        (".rows[?(@.z)].v", []),
        (".dotted\\.key", ["d"]),
        ("['dotted\\.key']", ["d"]),
        ("..v", [1, 2]),
        ("$.list[0]", [1]),
    ],
)
def test_a_path_leads_to_values(text: str, found: list[object]) -> None:
    value = {"list": [1, 2, 3], "rows": [{"k": "x", "v": 1}, {"k": "y", "v": 2}], "dotted.key": "d"}
    assert jsonpath.parse(text)(value) == found
