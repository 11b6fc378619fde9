"""``flexlet doctor``: is this host fit, is the cluster there, and what to do where not."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flexlet.cli.options import kubeconfig_option
from flexlet.cli.output import columns, output_option, print_json, print_lines

if TYPE_CHECKING:
    from flexlet.core.doctor import Finding, Purpose


@click.command()
@click.option(
    "--for",
    "purposes",
    multiple=True,
    type=click.Choice(["agent", "vm", "cluster"]),
    help="What it must be fit for: a node on this host, machines on this host, talking to a cluster.",
)
@kubeconfig_option
@output_option
def doctor(purposes: "tuple[Purpose, ...]", kubeconfig: str | None, output: str) -> int:
    """Check this host and the cluster; exit code 1 if something fails.

    What is missing fails only if it is needed for what --for says; else it is a warning.
    """
    from flexlet.apps.doctor import examine

    found = asyncio.run(examine(Path(kubeconfig) if kubeconfig else None, purposes))
    if output == "json":
        print_json(found)
    else:
        print_lines(lines(found))
    return 1 if any(one.level == "fail" for one in found) else 0


def lines(found: "list[Finding]") -> list[str]:
    """A line a check, and below it what to do."""
    rows = columns([(one.level, one.check, one.found) for one in found])
    margin = " " * (max(len(one.check) for one in found) + 8)
    return [
        line
        for row, one in zip(rows, found, strict=True)
        for line in (row, *([f"{margin}{one.advice}"] if one.advice else []))
    ]
