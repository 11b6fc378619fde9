"""``flexlet get nodes`` and ``flexlet get node NAME``."""

import asyncio
from typing import TYPE_CHECKING

import click

from flexlet.cli.get.group import get
from flexlet.cli.options import kubeconfig_option
from flexlet.cli.output import columns, output_option, print_json, print_lines

if TYPE_CHECKING:
    from flexlet.core.sizes.nodes import NodeSizes


@get.command()
@kubeconfig_option
@output_option
def nodes(kubeconfig: str | None, output: str) -> None:
    """Show what nodes have, what balloons cover, what workloads ask for and what is left.

    A bar is the allocatable size: # is used, . is free, o is covered by the balloon.
    """
    from flexlet.cli import reading

    found = asyncio.run(reading.of_cluster(kubeconfig, reading.node_sizes))
    if output == "json":
        print_json(found)
    elif not found:
        click.echo("there are no nodes in this cluster", err=True)
    else:
        print_lines(columns(_rows(found)))


def _rows(found: "list[NodeSizes]") -> list[tuple[str, ...]]:
    from flexlet.core.sizes.words import amount

    rows: list[tuple[str, ...]] = [
        ("NAME", "STATUS", "RESOURCE", "ALLOCATABLE", "BALLOON", "EFFECTIVE", "USED", "HEADROOM", "", "RESIZE")
    ]
    for node in found:
        for name, one in node.resources.items():
            figures = (one.allocatable, one.balloon, one.effective, one.used, one.headroom)
            texts = (amount(name, each) for each in figures)
            rows.append((node.name, node.status, name, *texts, one.bar(), node.resize or "-"))
    return rows


@get.command()
@click.argument("name")
@kubeconfig_option
@output_option
def node(name: str, kubeconfig: str | None, output: str) -> None:
    """Show everything about the size of one node: generation, parts, taints, wishes and what happened lately."""
    from flexlet.adapters.clock import SystemClock
    from flexlet.cli import reading
    from flexlet.core.sizes import node as detail

    found = asyncio.run(reading.of_cluster(kubeconfig, lambda cluster: reading.node_details(cluster, name)))
    if output == "json":
        print_json(detail.value(found))
        return
    now = SystemClock().now()
    print_lines([*detail.lines(found, now), "", *columns(detail.table(found))])
    if found.events:
        print_lines(["", *columns(detail.event_rows(found.events, now))])
