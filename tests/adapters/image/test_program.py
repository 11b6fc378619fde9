"""Programs of the host."""

import pytest

from flexlet.adapters.image import program
from flexlet.errors import HostError


def test_what_was_printed() -> None:
    assert (
        program.run(["sh", "-c", "echo $WORD; exit 3"], env={"WORD": "hello", "PATH": "/bin"}, accept={3})
        == "hello\n"
    )


@pytest.mark.parametrize("words", ["echo why >&2", "echo why"])
def test_last_words_explain_a_failure(words: str) -> None:
    with pytest.raises(HostError, match=r"sh -c .* failed with exit code 2: why$"):
        program.run(["sh", "-c", f"{words}; exit 2"])


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(HostError, match="cannot run `/no/such/program --version`"):
        program.run(["/no/such/program", "--version"])


def test_administrators_programs_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary user's PATH has no sbin."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert program.find("no-such-program") == ""
    assert program.find("ldconfig").endswith("sbin/ldconfig")
