from pathlib import Path

from tests.docs import console
from tests.docs.console import Ended, Step

PAGE = """
```console
$ first
$ second <<EOF
> text
> EOF
one
…
$ third
```

```text
$ not this one
```
"""


def test_commands_and_their_output_are_told_apart() -> None:
    assert list(console.steps(PAGE)) == [
        Step("first", ()),
        Step("second <<EOF\ntext\nEOF", ("one", "…")),
        Step("third", ()),
    ]


def test_ages_widths_and_ellipses_do_not_matter_and_the_rest_does() -> None:
    shown = Step("c", ("NAME   AGE", "web-…  12s", "…", "end"))
    good = "NAME AGE\nweb-abc   3m5s\n\nx\ny\nend\n"
    assert Ended(shown, good, 1).disagreement() == ""
    assert Ended(shown, "NAME AGE\nend\n", 0).disagreement() == "$ c\nNAME AGE\nend\n"


def test_a_command_without_output_must_succeed() -> None:
    assert Ended(Step("c", ()), "anything\n", 0).disagreement() == ""
    assert Ended(Step("c", ()), "no\n", 3).disagreement() == "$ c\nno\nexit code 3"


def test_a_session_is_one_shell(tmp_path: Path) -> None:
    """Variables live on, and a failing command does not end the session."""
    wanted = [Step("x=1", ()), Step("echo $x; false", ("1",)), Step("echo 2 >&2", ("2",))]
    ended = console.run(wanted, tmp_path, {})
    assert ended == [Ended(wanted[0], "\n", 0), Ended(wanted[1], "1\n\n", 1), Ended(wanted[2], "2\n\n", 0)]
