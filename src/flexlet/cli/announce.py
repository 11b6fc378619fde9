"""What a long-running command says when it is ready."""

import contextlib
import sys

import click


def announce(*lines: str) -> None:
    """Print at once; whoever does not read on has heard enough, and the command goes on."""
    with contextlib.suppress(BrokenPipeError):
        for line in lines:
            click.echo(line)
        sys.stdout.flush()
