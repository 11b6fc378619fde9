"""``flexlet bench``: measure on this machine."""

import subprocess
import sys
from pathlib import Path

import click

import flexlet
from flexlet.errors import ConfigError


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table", help="How to print figures.")
def bench(names: tuple[str, ...], output: str) -> None:
    """Measure flexlet, where it can beside Kubernetes' own programs; all benches, or those named.

    An unknown name is answered with those there are. Figures are for comparing on one machine.
    """
    command = [sys.executable, "-m", "bench", "-o", output, *names]
    sys.exit(subprocess.run(command, cwd=_clone(), check=False).returncode)  # noqa: S603 - our own program


def _clone() -> Path:
    """Where the benches are: they come with the source, since they need its tests' tools."""
    root = Path(flexlet.__file__).parents[2]
    if not (root / "bench" / "__main__.py").is_file():
        raise ConfigError(
            "the benches are not part of the installed package: clone the project and run `make bench` there"
        )
    return root
