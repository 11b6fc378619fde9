import json
from typing import Any

import pytest

from flexlet.cli.documents import Document, documents


def read(text: str) -> list[tuple[str, Any, str]]:
    return [(d.label, d.value, d.problem) for d in documents(text.encode(), "f")]


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\n---\nb: 2\n",
        "---\na: 1\n---\nb: 2\n---\n",
        "# comment\n---\na: 1\n...\n---\n# nothing\n---\nb: 2",
        "%YAML 1.2\n---\na: 1\n--- {b: 2}\n",
        '{"a": 1}\n{"b": 2}',
        '  {"a": 1}{"b": 2}\n\n',
        '{"a": 1}\n---\n{"b": 2}\n',
        "\ufeffa: 1\n---\nb: 2\n",
        "kind: List\nitems: []\n---\na: 1\n---\nb: 2\n",
    ],
)
def test_many_documents(text: str) -> None:
    """However they are separated, documents come one by one; empty ones do not count."""
    assert [value for _, value, _ in read(text)] == [{"a": 1}, {"b": 2}]


def test_items_of_lists() -> None:
    text = json.dumps({"kind": "List", "items": [{"a": 1}, {"b": 2}]})
    assert read(text) == [("f, document 1, item 1", {"a": 1}, ""), ("f, document 1, item 2", {"b": 2}, "")]
    assert read('{"kind": "PodList", "items": [7]}') == [("f, document 1, item 1", 7, "")]
    assert read('{"kind": "Pod", "items": []}') == [("f, document 1", {"kind": "Pod", "items": []}, "")]


def test_a_broken_document_leaves_the_others() -> None:
    """The error says where in the file it lies."""
    assert read("a: 1\n---\nx: [1\n---\nb: 2\n") == [
        ("f, document 1", {"a": 1}, ""),
        ("f, document 2", None, "not YAML: line 4, column 1: did not find expected ',' or ']'"),
        ("f, document 3", {"b": 2}, ""),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": }}', "not YAML: line 1, column 8: did not find expected <document start>"),
        ("a: !!python/object:os.system {}", "not YAML: line 1, column 4: could not determine a constructor"),
        ("a: \x07", "not YAML: "),
        ("0b", ""),
    ],
)
def test_text_that_is_neither(text: str, problem: str) -> None:
    assert [found[:80].startswith(problem) for _, _, found in read(text)] == [True]


def test_bytes_that_are_no_text() -> None:
    found = list(documents(b"a: \xff", "f"))
    assert found == [Document("f", problem="not UTF-8 text: invalid start byte at byte 3")]


def test_scalars_as_kubernetes_reads_them() -> None:
    """Dates and sexagesimal numbers stay text; numbers and booleans do not."""
    text = """
date: 2024-01-01
time: 2024-01-01T00:00:00Z
ratio: 12:30
float: 190:20:30.15
int: 1_000
octal: 017
hex: 0x1f
half: 0.5
none: ~
flag: true
quoted: "1"
"""
    assert read(text)[0][1] == {
        "date": "2024-01-01",
        "time": "2024-01-01T00:00:00Z",
        "ratio": "12:30",
        "float": "190:20:30.15",
        "int": 1000,
        "octal": 15,
        "hex": 31,
        "half": 0.5,
        "none": None,
        "flag": True,
        "quoted": "1",
    }
