from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlet.apiserver.http import yamltext

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
    document = b"no: yes\n1: on\nwhen: 2026-01-31\nrepeated: &a [x]\nagain: *a\n"
    assert yamltext.load(document) == {
        "false": True,
        "1": True,
        "when": "2026-01-31",
        "repeated": ["x"],
        "again": ["x"],
    }


def test_text_that_could_be_something_else_is_quoted() -> None:
    value = {"b": "true", "e": "", "i": "12", "t": "2026-01-31T10:00:00Z", "w": "word", "x": "y", "z": "a\nb\n"}
    assert yamltext.dump(value).decode() == (
        'b: "true"\ne: ""\ni: "12"\nt: "2026-01-31T10:00:00Z"\nw: word\nx: "y"\nz: |\n  a\n  b\n'
    )


@pytest.mark.parametrize("document", [b"{", b"a: [", b"\x00", b"a: b: c", b"- &a [*a]", b"a: .inf"])
def test_what_is_no_yaml_is_said_so(document: bytes) -> None:
    with pytest.raises(yamltext.YamlFault):
        yamltext.load(document)


def test_aliases_may_not_blow_a_document_up() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(yamltext.YamlFault, match="excessive aliasing"):
        yamltext.load("\n".join(lines).encode())
