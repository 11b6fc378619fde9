"""``flexlet get pods``."""

import asyncio
from typing import TYPE_CHECKING

import click

from flexlet.cli.get.group import get
from flexlet.cli.options import kubeconfig_option
from flexlet.cli.output import columns, output_option, print_json, print_lines, say

if TYPE_CHECKING:
    from flexlet.core.sizes.pods import PodSizes


@get.command()
@click.option("--namespace", "-n", default="default", show_default=True, help="Pods of this namespace.")
@click.option("--all-namespaces", "-A", "everywhere", is_flag=True, help="Pods of all namespaces.")
@kubeconfig_option
@output_option
def pods(namespace: str, everywhere: bool, kubeconfig: str | None, output: str) -> None:
    """Show what pods ask for, what their nodes have granted, and what is in force (request/limit)."""
    from flexlet.cli import reading

    where = "" if everywhere else namespace
    found = asyncio.run(reading.of_cluster(kubeconfig, lambda cluster: reading.pod_sizes(cluster, where)))
    if output == "json":
        print_json(found)
    elif not found:
        say(f"there are no pods{'' if everywhere else f' in namespace {namespace}'}")
    else:
        print_lines(columns(_rows(found, everywhere=everywhere)))


def _rows(found: "list[PodSizes]", *, everywhere: bool) -> list[tuple[str, ...]]:
    from flexlet.core.sizes.nodes import RESOURCES

    head = ("NAME", "NODE", "STATUS", "RESOURCE", "DESIRED", "ALLOCATED", "ACTUAL", "RESIZE")
    rows: list[tuple[str, ...]] = [("NAMESPACE", *head) if everywhere else head]
    for pod in found:
        who = (pod.namespace, pod.name) if everywhere else (pod.name,)
        for name in RESOURCES:
            texts = (size.text(name) for size in (pod.desired, pod.allocated, pod.actual))
            rows.append((*who, pod.node or "-", pod.phase or "-", name, *texts, pod.resize or "-"))
    return rows
