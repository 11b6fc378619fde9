"""``flexlet vm migrate``: the slow way to another node, for when the node itself has to be left."""

import asyncio
from typing import TYPE_CHECKING

import click

from flexlet.cli.options import waiting_options
from flexlet.cli.output import output_option, print_json, say
from flexlet.cli.vm.group import common_options, vm
from flexlet.errors import ConfigError

if TYPE_CHECKING:
    from flexlet.core.vm.objects import FlexVMMigration
    from flexlet.ports.cluster import Cluster


@vm.command()
@click.argument("name")
@click.option("--node", default="", help="Where to; by default wherever the scheduler finds room.")
@waiting_options
@common_options
@output_option
def migrate(
    name: str, node: str, namespace: str, wait: bool, patience_s: float, kubeconfig: str | None, output: str
) -> int:
    """Move a running machine to another node; all of its memory is copied, so a resize is better done in place."""
    from flexlet.cli.reading import of_cluster

    return asyncio.run(
        of_cluster(kubeconfig, lambda cluster: _move(cluster, namespace, name, node, wait, patience_s, output))
    )


async def _move(
    cluster: "Cluster", namespace: str, name: str, node: str, wait: bool, patience_s: float, output: str
) -> int:
    from flexlet.adapters.clock import SystemClock
    from flexlet.cli.resize.following import conclude, follow
    from flexlet.core.sizes import vmmove

    await _check(cluster, namespace, name)
    made = await _create(cluster, namespace, name, node)
    if not wait:
        say(f"{name}: asked for, as FlexVMMigration {made}")
        return 0

    async def look() -> "FlexVMMigration":
        return await _get(cluster, namespace, made)

    seen, end = await follow(name, SystemClock(), patience_s, look, vmmove.outcome)
    if output == "json":
        print_json({"vm": f"{namespace}/{name}", "migration": made, "result": end.state, "status": seen.status})
    elif end.state == "Done":
        click.echo(f"{name}  {end.message}")
    return conclude(name, end)


async def _check(cluster: "Cluster", namespace: str, name: str) -> None:
    from flexlet.cli import vmreading

    found = await vmreading.get_vm(cluster, namespace, name)
    if found.status.pod is None or not found.status.pod.name:
        state = found.status.printable_status or "unknown to the controllers"
        raise ConfigError(f"VM {name} does not run (it is {state}): only a running machine can be moved")


async def _create(cluster: "Cluster", namespace: str, name: str, node: str) -> str:
    from flexlet.api import decode
    from flexlet.cli.vmreading import MIGRATIONS
    from flexlet.core.sizes import vmmove
    from flexlet.core.vm.objects import FlexVMMigration

    made = await cluster.create(MIGRATIONS, namespace, vmmove.body(name, node))
    return decode.from_json(made, FlexVMMigration).metadata.name


async def _get(cluster: "Cluster", namespace: str, name: str) -> "FlexVMMigration":
    from flexlet.api import decode
    from flexlet.cli.vmreading import MIGRATIONS
    from flexlet.core.vm.objects import FlexVMMigration

    return decode.from_json(await cluster.get(MIGRATIONS, namespace, name), FlexVMMigration)
