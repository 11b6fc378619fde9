"""``flexlet lab``: machines to try things on."""

import asyncio

import click

from flexlet.cli.options import kubeconfig_option


class BytesType(click.ParamType[int]):
    """A size such as ``8Gi``."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes of a Kubernetes quantity."""
        from flexlet.api.quantity import Quantity
        from flexlet.errors import InputError

        try:
            return Quantity.parse(str(value)).value
        except InputError as error:
            self.fail(f"{value!r} is not a size such as 8Gi: {error.message}", param, ctx)


@click.group()
def lab() -> None:
    """Machines to try things on."""


@lab.command()
@click.argument("node")
@click.option("--cpu", "--cpus", "cpus", type=click.IntRange(0), default=0, help="How many CPUs to add.")
@click.option("--memory", type=BytesType(), default=0, help="How much memory to add, such as 8Gi.")
@kubeconfig_option
def plug(node: str, cpus: int, memory: int, kubeconfig: str | None) -> None:
    """Plug CPUs and memory into a hollow node while it runs."""
    _change(node, cpus, memory, kubeconfig)


@lab.command()
@click.argument("node")
@click.option("--cpu", "--cpus", "cpus", type=click.IntRange(0), default=0, help="How many CPUs to take.")
@click.option("--memory", type=BytesType(), default=0, help="How much memory to take, such as 8Gi.")
@kubeconfig_option
def unplug(node: str, cpus: int, memory: int, kubeconfig: str | None) -> None:
    """Take CPUs and memory out of a hollow node while it runs."""
    _change(node, -cpus, -memory, kubeconfig)


def _change(node: str, cpus: int, memory: int, kubeconfig: str | None) -> None:
    if not cpus and not memory:
        raise click.UsageError("say how much: --cpu N, --memory SIZE, or both")
    asyncio.run(_plug(node, cpus, memory, kubeconfig))


async def _plug(node: str, cpus: int, memory: int, kubeconfig: str | None) -> None:
    from flexlet.adapters.clock import SystemClock
    from flexlet.apps.plug import plug as change
    from flexlet.cli.connection import connect

    async with connect(kubeconfig) as cluster:
        done = await change(cluster, SystemClock(), node, cpus, memory, patience_s=30)
    for name in ("cpu", "memory"):
        click.echo(f"{done.node}  {name:<6}  {done.before[name]} -> {done.after[name]}")
