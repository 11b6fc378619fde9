"""``$(NAME)`` means what it means to Kubernetes."""

from hypothesis import given
from hypothesis import strategies as st
from tests.core.agent.containers.oracle import recorded

from flexlet.core.agent.containers import expansion

KNOWN = {"A": "1", "B_C": "two", "EMPTY": "", "D": "$(A)", "x.y": "dot", "ü": "umlaut"}
TEXTS = st.text(alphabet="$()A x", max_size=12)


def test_every_recorded_text_expands_as_upstream_expands_it() -> None:
    cases = recorded("expansion")
    assert {each["text"]: expansion.expanded(each["text"], KNOWN) for each in cases} == {
        each["text"]: each["out"] for each in cases
    }


@given(TEXTS)
def test_a_text_whose_dollars_are_doubled_stays_as_it_is(text: str) -> None:
    assert expansion.expanded(text.replace("$", "$$"), {"A": "1"}) == text


@given(TEXTS)
def test_without_known_names_only_doubled_dollars_shrink(text: str) -> None:
    """Expanding never invents text: what comes out is shorter by one dollar for each doubled one."""
    result = expansion.expanded(text, {})
    assert result.replace("$", "") == text.replace("$", "")
    assert text.count("$") / 2 <= result.count("$") <= text.count("$")


def test_missing_names_are_those_unknown_or_empty() -> None:
    assert expansion.missing("$(A)/$(Z)/$(EMPTY)/$(Z)/$$(B)/$(", KNOWN) == ["EMPTY", "Z"]
