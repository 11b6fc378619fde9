"""Bars on a terminal."""

import io

from rich.console import Console

from flexlet.cli.paint import paint


def test_bars_are_blocks_and_the_rest_stays() -> None:
    """In colour unless NO_COLOR is set; other brackets are no bars."""
    plain = Console(file=io.StringIO(), force_terminal=True, no_color=True, width=60)
    paint(["n1  [##..oo]  x[0] [bold]"], plain)
    assert isinstance(plain.file, io.StringIO)
    assert plain.file.getvalue().replace("\x1b[2m", "").replace("\x1b[0m", "") == "n1  ██░░▒▒  x[0] [bold]\n"
