import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.apiserver import yamltext

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abcdef/.-", min_size=1), inner),
    max_leaves=8,
)


@given(json_values)
def test_what_is_written_reads_back(value: Any) -> None:
    assert yamltext.load(yamltext.dump(value)) == value


def test_yaml_1_1_decides_what_is_a_boolean_and_keys_are_text() -> None:
    document = b"no: yes\n1: on\nwhen: 2026-01-31\n'2': \"3\"\n~: !!str 4\nb: !!binary aGk=\n"
    assert yamltext.load(document) == {
        "false": True,
        "1": True,
        "when": "2026-01-31",
        "2": "3",
        "None": "4",
        "b": "hi",
    }


def test_text_that_could_be_something_else_is_quoted() -> None:
    value = {"b": "true", "e": "", "i": "12", "t": "2026-01-31T10:00:00Z", "w": "word", "x": "y", "z": "a\nb\n"}
    assert yamltext.dump(value).decode() == (
        'b: "true"\ne: ""\ni: "12"\nt: "2026-01-31T10:00:00Z"\nw: word\nx: "y"\nz: |\n  a\n  b\n'
    )


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (b"{", "did not find expected node content"),
        (b"a: [", "did not find expected node content"),
        (b"\x00", "control characters are not allowed"),
        (b"a: b: c", "mapping values are not allowed in this context"),
        (b"a: .inf", "unsupported value"),
        (b"--- {}\n--- {}\n", "expected a single document"),
        (b"? {a: 1}\n: 2\n", "a map or a list cannot be a key"),
        (b"!!python/object/apply:os.getcwd []\n", "could not determine a constructor for the tag"),
        (b"a: !!binary x", "invalid base64"),
        (b"a: !!int x", "cannot read 'x' as tag:yaml.org,2002:int"),
        (b"a: !!int " + b"9" * 5000, "cannot read a number of 5000 characters"),
    ],
)
def test_what_is_no_yaml_is_said_so(document: bytes, fault: str) -> None:
    with pytest.raises(yamltext.YamlFault, match=re.escape(fault)):
        yamltext.load(document)


@pytest.mark.parametrize(
    "document",
    [
        b"- &a [*a]",
        b"a: &a {b: 1}\nc: *a\n",
        b"a: &a b",
        b"<<: {a: 1}",
        b"a: {<<: [{b: 1}]}",
        b"\n".join(
            [b"a0: &a0 {x: 1}", *(b"a%d: &a%d {<<: [*a%d, *a%d]}" % (n, n, n - 1, n - 1) for n in range(1, 30))]
        ),
    ],
)
def test_anchors_aliases_and_merge_keys_are_refused(document: bytes) -> None:
    with pytest.raises(yamltext.YamlFault, match="anchors, aliases and merge keys are not accepted"):
        yamltext.load(document)


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (b"[" * 50_000, "exceeded max depth of 200"),
        (b"{a: " * 50_000, "exceeded max depth of 200"),
        (b"- " * 50_000, "exceeded max depth of 200"),
        (b"[" + b"1," * 1_400_000 + b"]", "document contains more than 50000 values"),
        (b"- a\n" * 700_000, "document contains more than 50000 values"),
        (b"".join(b"%%TAG !%d! a\n" % n for n in range(100_000)), "more than 8 %TAG directives"),
        (b"---\n" * 700_000, "expected a single document"),
    ],
)
def test_a_document_has_bounds(document: bytes, fault: str) -> None:
    with pytest.raises(yamltext.YamlFault, match=re.escape(fault)):
        yamltext.load(document)


@pytest.mark.parametrize("text", ["9" * 100_000, "1:" * 100_000 + "1", "0x" + "f" * 100_000])
def test_a_number_of_many_digits_is_text(text: str) -> None:
    assert yamltext.load(f"a: {text}".encode()) == {"a": text}


def test_a_document_may_be_as_deep_as_one_in_json() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    assert yamltext.load(b"[" * 200 + b"1" + b"]" * 200) == deep


def test_utf_16_is_read() -> None:
    assert yamltext.load("a: é".encode("utf-16")) == {"a": "é"}
