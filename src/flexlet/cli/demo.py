"""``flexlet demo``: see it work."""

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from flexlet.cli.output import columns, print_lines, say

if TYPE_CHECKING:
    from flexlet.apps.demo.story import Row


@click.command()
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table", help="How to print the end.")
def demo(output: str) -> None:
    """Show on a real machine what flexlet does; takes a few minutes the first time."""
    from flexlet.apps.demo.run import run
    from flexlet.apps.eventloop import new_loop

    with asyncio.Runner(loop_factory=new_loop) as runner:
        rows = runner.run(run(say))
    _print(rows, output)
    if not all(row.ok for row in rows):
        sys.exit(1)


def _print(rows: "list[Row]", output: str) -> None:
    if output == "json":
        import msgspec

        click.echo(msgspec.json.encode(rows).decode())
        return
    cells = [("STEP", "BEFORE", "AFTER", "TIME")]
    cells += [(row.step, row.before, row.after, f"{row.seconds:.1f} s") for row in rows]
    print_lines(columns(cells))
