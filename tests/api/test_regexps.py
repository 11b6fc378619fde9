"""Go's regular expressions in Python, held against what Go matched."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexlet.api import regexps
from flexlet.api.regexps import WrongPattern

PATTERNS = json.loads((Path(__file__).parents[1] / "data" / "api" / "patterns.json").read_text())


@pytest.mark.parametrize("pattern", PATTERNS["good"])
def test_a_pattern_matches_what_go_matches(pattern: str) -> None:
    found = regexps.compiled(pattern)
    assert found is not None
    assert [text for text in PATTERNS["texts"] if found.search(text)] == PATTERNS["good"][pattern]


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("(", "missing closing ): `(`"),
        (")", "unexpected ): `)`"),
        ("[a", "missing closing ]: `[a`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        ("x{1001}", "invalid repeat count: `{1001}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("[[:nosuch:]]", "invalid character class range: `[:nosuch:]`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_what_go_refuses_is_refused_in_its_words(pattern: str, fault: str) -> None:
    with pytest.raises(WrongPattern) as found:
        regexps.compiled(pattern)
    assert found.value.message == f"error parsing regexp: {fault}"


@pytest.mark.parametrize("pattern", ["(?U)a+", r"\p{Greek}", "[[:^alpha:]]"])
def test_what_cannot_be_said_has_no_matcher(pattern: str) -> None:
    """Such a pattern is right, so nothing is refused because of it."""
    assert regexps.compiled(pattern) is None


@settings(deadline=None)
@given(st.text(alphabet="ab|()[]{}*+?^$.\\-,1:=imsUPpLdwz<>!", max_size=12))
def test_any_text_is_a_pattern_or_a_fault(text: str) -> None:
    try:
        found = regexps.compiled(text)
    except WrongPattern:
        return
    assert found is None or found.flags & re.ASCII


@given(st.text())
def test_a_quoted_text_matches_itself(text: str) -> None:
    found = regexps.compiled(rf"^\Q{text}\E$")
    assert found is not None
    assert found.search(text)
