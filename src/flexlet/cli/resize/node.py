"""``flexlet resize node``: make a NodeSize say what is wanted, and look at it until it is so."""

import asyncio
from typing import TYPE_CHECKING, Any, Final

import click

from flexlet.cli.output import columns, print_json, print_lines, say
from flexlet.cli.resize.group import REFUSED, QuantityType, common_options, resize

if TYPE_CHECKING:
    from flexlet.api.quantity import Quantity
    from flexlet.core.sizes.nodes import NodeSizes
    from flexlet.core.sizes.wish import Outcome, Wish
    from flexlet.core.sizes.wishplan import Forecast
    from flexlet.ports.cluster import Cluster


_AFTERWARDS_S: Final = 30.0
"""What is refused at its deadline is told a little later."""


@resize.command()
@click.argument("name")
@click.option("--cpu", type=QuantityType(), help="CPUs that workloads may use, such as 8 or 7500m.")
@click.option("--memory", type=QuantityType(), help="Memory that workloads may use, such as 32Gi.")
@click.option("--balloon", is_flag=True, help="The amounts are the balloon's: what workloads may not use.")
@click.option(
    "--via",
    type=click.Choice(["Auto", "Balloon", "Hardware"]),
    help="Reserve, plug and unplug, or both; by default as it was, a balloon at first.",
)
@click.option(
    "--on-insufficient",
    type=click.Choice(["Fail", "Partial", "Defer"]),
    help="If pods are in the way of a smaller node: give up, take what is free, or wait.",
)
@click.option("--deadline", "deadline_s", type=click.IntRange(1, 86400), help="Seconds that Defer waits; 60.")
@click.option("--qmp", default="", metavar="PATH", help="The QMP socket of its machine, on the controllers' host.")
@common_options
def node(
    name: str,
    cpu: "Quantity | None",
    memory: "Quantity | None",
    balloon: bool,
    via: str | None,
    on_insufficient: str | None,
    deadline_s: int | None,
    qmp: str,
    wait: bool,
    patience_s: float,
    dry_run: bool,
    kubeconfig: str | None,
    output: str,
) -> int:
    """Make a node smaller or larger for everyone who schedules; no pod is ever ended for it."""
    from flexlet.cli.reading import of_cluster
    from flexlet.core.sizes.wish import Wish

    amounts = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value is not None}
    if not amounts:
        raise click.UsageError("say how big: --cpu N, --memory SIZE, or both")
    wish = Wish(
        amounts=amounts,
        balloon=balloon,
        via=via or "",
        on_insufficient=on_insufficient or "",
        deadline_s=deadline_s,
        qmp=qmp,
    )
    if dry_run:
        plans = asyncio.run(of_cluster(kubeconfig, lambda cluster: _forecast(cluster, name, wish)))
        return _print_plan(name, plans, output)
    patience_s = max(patience_s, deadline_s + _AFTERWARDS_S) if deadline_s else patience_s
    return asyncio.run(
        of_cluster(kubeconfig, lambda cluster: _resize(cluster, name, wish, wait, patience_s, output))
    )


async def _forecast(cluster: "Cluster", name: str, wish: "Wish") -> "list[Forecast]":
    from flexlet.cli import reading
    from flexlet.core.sizes import wishplan
    from flexlet.core.sizes.wish import with_wish

    sizes = (await reading.node_details(cluster, name)).sizes
    known = await reading.get_wish(cluster, name)
    return wishplan.forecast(sizes.resources, with_wish(known.spec if known else None, wish))


def _print_plan(name: str, plans: "list[Forecast]", output: str) -> int:
    from flexlet.core.nodesize.sizes import quantity
    from flexlet.core.sizes import wishplan
    from flexlet.core.sizes.words import change

    if output == "json":
        print_json({"node": name, "plan": [wishplan.value(one) for one in plans]})
    else:
        rows = [
            (
                name,
                one.resource,
                f"effective {change(one.resource, *(quantity(one.resource, each) for each in one.effective))}",
                "balloon "
                + change(one.resource, quantity(one.resource, one.balloon), quantity(one.resource, one.goal)),
                wishplan.words(one),
            )
            for one in plans
        ]
        print_lines(columns(rows))
    return 0 if all(one.verdict in wishplan.AT_ONCE for one in plans) else REFUSED


async def _resize(cluster: "Cluster", name: str, wish: "Wish", wait: bool, patience_s: float, output: str) -> int:
    from flexlet.adapters.clock import SystemClock
    from flexlet.cli import reading
    from flexlet.cli.resize.following import conclude, follow
    from flexlet.core.nodesize.objects import NodeSize
    from flexlet.core.sizes.wish import Outcome, outcome

    clock = SystemClock()
    before = (await reading.node_details(cluster, name)).sizes
    await reading.make_wish(cluster, name, wish, clock.now())
    if not wait:
        say(f"{name}: asked for; `flexlet get node {name}` shows how far it is")
        return 0

    async def look() -> NodeSize | None:
        return await reading.get_wish(cluster, name)

    def judge(size: NodeSize | None) -> Outcome:
        return outcome(size) if size else Outcome("Failed", "Deleted", "somebody has deleted the NodeSize")

    size, found = await follow(name, clock, patience_s, look, judge)
    if found.reason == "Timeout" and size is not None and size.status.observed_generation == 0:
        found = Outcome("Failed", "Timeout", f"{found.message}; is `flexlet controllers` running?")
    after = (await reading.node_details(cluster, name)).sizes
    _print(before, after, found, output)
    return conclude(name, found)


def _print(before: "NodeSizes", after: "NodeSizes", found: "Outcome", output: str) -> None:
    from flexlet.core.sizes.words import change

    if output == "json":
        value: dict[str, Any] = {
            "node": after.name,
            "result": found.state,
            "reason": found.reason,
            "message": found.message,
            "before": before.resources,
            "after": after.resources,
        }
        print_json(value)
        return
    rows = [
        (
            after.name,
            key,
            f"effective {change(key, before.resources[key].effective, one.effective)}",
            f"balloon {change(key, before.resources[key].balloon, one.balloon)}",
        )
        for key, one in after.resources.items()
    ]
    print_lines(columns(rows))
