"""``flexlet get vms``."""

import asyncio

import click

from flexlet.cli.get.group import get
from flexlet.cli.options import kubeconfig_option
from flexlet.cli.output import columns, output_option, print_json, print_lines, say


@get.command()
@click.option("--namespace", "-n", default="default", show_default=True, help="VMs of this namespace.")
@click.option("--all-namespaces", "-A", "everywhere", is_flag=True, help="VMs of all namespaces.")
@kubeconfig_option
@output_option
def vms(namespace: str, everywhere: bool, kubeconfig: str | None, output: str) -> None:
    """Show how big virtual machines (FlexVM) are, and how far their resizes have come.

    An arrow leads from what is to what is wanted: of the guest, and of the requests of its launcher pod.
    """
    from flexlet.cli import reading, vmreading
    from flexlet.core.sizes.vms import of_vms, rows

    where = "" if everywhere else namespace
    found = of_vms(asyncio.run(reading.of_cluster(kubeconfig, lambda cluster: vmreading.vms(cluster, where))))
    if output == "json":
        print_json(found)
    elif not found:
        say(f"there are no VMs{'' if everywhere else f' in namespace {namespace}'}")
    else:
        print_lines(columns(rows(found, everywhere=everywhere)))
