"""``flexlet get nodes`` and ``flexlet get node NAME``."""

import asyncio
import sys
from typing import TYPE_CHECKING, Final

import click

from flexlet.cli.get.group import get
from flexlet.cli.options import kubeconfig_option
from flexlet.cli.output import columns, output_option, print_json, print_lines, say

if TYPE_CHECKING:
    from flexlet.core.sizes.nodes import NodeSizes
    from flexlet.ports.cluster import Cluster


_EVERY_S: Final = 1.0


@get.command()
@click.option("--watch", "-w", is_flag=True, help="Print again whenever something has changed; Ctrl-C ends it.")
@kubeconfig_option
@output_option
def nodes(watch: bool, kubeconfig: str | None, output: str) -> None:
    """Show what nodes have, what balloons cover, what workloads ask for and what is left.

    A bar is the allocatable size: # is used, . is free, o is covered by the balloon.
    """
    from flexlet.cli import reading

    asyncio.run(reading.of_cluster(kubeconfig, lambda cluster: _show(cluster, output, watch=watch)))


async def _show(cluster: "Cluster", output: str, *, watch: bool) -> None:
    from flexlet.adapters.clock import SystemClock
    from flexlet.cli import reading

    clock, shown = SystemClock(), None
    while True:
        found = await reading.node_sizes(cluster)
        if found != shown:
            _print(found, output, again=shown is not None)
            shown = found
        if not watch:
            return
        await clock.sleep(_EVERY_S)


def _print(found: "list[NodeSizes]", output: str, *, again: bool) -> None:
    if output == "json":
        print_json(found)
    elif not found:
        say("there are no nodes in this cluster")
    elif again and sys.stdout.isatty():
        click.clear()
        print_lines(columns(_rows(found)))
    else:
        print_lines([*([""] if again else []), *columns(_rows(found))])
    sys.stdout.flush()


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
