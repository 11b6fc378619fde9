"""How commands print: JSON for programs, tables for people."""

import sys
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from flexlet.api import decode

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print.",
)


def print_json(value: Any) -> None:
    """A value as indented JSON on stdout."""
    sys.stdout.write(msgspec.json.format(decode.to_json(value), indent=2).decode() + "\n")


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines whose cells stand below each other, without blanks at their ends."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def say(text: str) -> None:
    """Talk goes to stderr; stdout is for data."""
    click.echo(text, err=True)


def print_lines(lines: Sequence[str]) -> None:
    """Lines on stdout; bars are painted if a terminal shows them."""
    if not sys.stdout.isatty():
        for line in lines:
            print(line)
        return
    from flexlet.cli.paint import paint

    paint(lines)
