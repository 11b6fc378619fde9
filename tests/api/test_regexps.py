"""Go's regular expressions in Python, held against what Go matched."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexlet.api import regexps
from flexlet.api.regexps import PatternTooCostly, WrongPattern

PATTERNS = json.loads((Path(__file__).parents[1] / "data" / "api" / "patterns.json").read_text())


@pytest.mark.parametrize("pattern", PATTERNS["good"])
def test_a_pattern_matches_what_go_matches(pattern: str) -> None:
    found = regexps.compiled(pattern)
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
        ("(?<=x)y", "invalid named capture: `(?<=x)y`"),
        ("(?P<é>a)", "invalid named capture: `(?P<é>`"),
        (r"a\C", r"invalid escape sequence: `\C`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        ("a++", "invalid nested repetition operator: `++`"),
        ("(?>a)", "invalid or unsupported Perl syntax: `(?>`"),
        ("((a{100}){100}){100}", "invalid repeat count: `{100}`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_what_go_refuses_is_refused_in_its_words(pattern: str, fault: str) -> None:
    with pytest.raises(WrongPattern) as found:
        regexps.compiled(pattern)
    assert found.value.message == f"error parsing regexp: {fault}"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("(?U)a+", "aa", ["a", "a"]),
        (r"\p{Greek}+", "aβδ", ["βδ"]),
        ("[[:^alpha:]]", "a1", ["1"]),
        ("a|ab", "ab", ["a"]),
    ],
)
def test_all_of_go_s_syntax_is_matched(pattern: str, text: str, found: list[str]) -> None:
    assert list(regexps.compiled(pattern).find(text)) == found


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(x+x+)+y", "(.*a){20}!"])
def test_no_pattern_goes_back_and_forth(pattern: str) -> None:
    """A backtracking engine needs longer than the universe is old for these."""
    assert not regexps.compiled(pattern).search("ax" * 5000 + "\n")


def test_a_large_program_over_a_long_text_is_refused() -> None:
    pattern = regexps.compiled("[ab]*a[ab]{900}c")
    assert not pattern.search("ab" * 1000)
    with pytest.raises(PatternTooCostly, match="a text of 1000000 bytes is too long"):
        pattern.search("ab" * 500_000)


@settings(deadline=None)
@given(st.text(alphabet="ab|()[]{}*+?^$.\\-,1:=imsUPpLdwz<>!", max_size=12))
def test_any_text_is_a_pattern_or_a_fault(text: str) -> None:
    with contextlib.suppress(WrongPattern):
        assert regexps.compiled(text).size > 0


@given(st.text())
def test_a_quoted_text_matches_itself(text: str) -> None:
    found = regexps.compiled(rf"^\Q{text}\E$")
    assert found.search(text)
