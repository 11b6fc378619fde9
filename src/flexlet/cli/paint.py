"""Bars in colour, for terminals; rich is loaded only here, and obeys NO_COLOR."""

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from rich.console import Console
from rich.text import Text

from flexlet.core.sizes.words import BALLOON, FREE, USED

_BAR: Final = re.compile(rf"\[[{re.escape(USED + FREE + BALLOON)}]+\]")
_LOOK: Final = {USED: ("█", "green"), FREE: ("░", "dim"), BALLOON: ("▒", "blue")}


def paint(lines: Iterable[str], console: Console | None = None) -> None:
    """Print lines as they are, with their bars in blocks."""
    console = console or Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(painted(line))


def painted(line: str) -> Text:
    """A line in colour."""
    text, end = Text(), 0
    for found in _BAR.finditer(line):
        text.append(line[end : found.start()])
        for cell, alike in groupby(found[0].strip("[]")):
            block, style = _LOOK[cell]
            text.append(block * len(list(alike)), style)
        end = found.end()
    text.append(line[end:], "bold" if line.startswith(("NAME ", "NAMESPACE ", "RESOURCE ", "LAST ")) else "")
    return text
