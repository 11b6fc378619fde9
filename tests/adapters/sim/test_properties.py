"""What holds for any value and any script."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from flexlet.adapters.sim.cgroupfiles import accepted, initial
from flexlet.adapters.sim.shell.lexer import SyntaxFault
from flexlet.adapters.sim.shell.parser import parse

FILES = initial(("cpu", "memory", "hugetlb", "pids"), ("2MB",))
NUMBERS = st.integers(-(10**6), 10**14).map(str)
VALUES = st.one_of(st.just("max"), NUMBERS, st.tuples(NUMBERS, NUMBERS).map(" ".join), st.text(max_size=8))
SIGNS = st.sampled_from(
    ("a", "$x", "$(a)", "$((1+1))", "'", '"', ";", "&", "&&", "||", "|", "(", ")", "{", "}", ">", ">>", "2>&1")
) | st.sampled_from(("if", "then", "else", "fi", "while", "do", "done", "for", "in", "!", "\n", "\\", "x=1"))


@given(st.sampled_from(sorted(FILES)), VALUES)
def test_what_a_file_shows_can_be_written_back(name: str, text: str) -> None:
    """Writing what was read changes nothing, whatever the kernel made of the first value."""
    try:
        value = accepted(name, text, FILES[name])
    except OSError:
        return
    assert accepted(name, value, FILES[name]) == value


@given(st.lists(SIGNS, max_size=12).map(" ".join) | st.text(max_size=20))
def test_any_text_is_a_script_or_a_syntax_fault(text: str) -> None:
    """A manifest may say anything; the simulation says why it cannot run it, and nothing else breaks."""
    with contextlib.suppress(SyntaxFault):
        assert parse(text) == parse(text)
