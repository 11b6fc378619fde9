"""``flexlet lab plug|unplug``: change the size of a machine or of a hollow node while it runs.

A name that is a lab machine goes to its hypervisor; any other one is taken for a hollow node of the cluster.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from flexlet.cli.lab.group import REFUSED, BytesType, data_option, lab
from flexlet.cli.options import kubeconfig_option
from flexlet.cli.output import output_option, print_json, say

if TYPE_CHECKING:
    from flexlet.core.lab.plans import Refused
    from flexlet.engine.lab.sizing import Change, Size

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _size_options(verb: str) -> Callable[[_Function], _Function]:
    def decorate(function: _Function) -> _Function:
        for option in (
            kubeconfig_option,
            output_option,
            data_option,
            click.option(
                "--timeout",
                "patience_s",
                type=click.FloatRange(0, min_open=True),
                default=120.0,
                show_default=True,
                help="Seconds that the guest may take for each device.",
            ),
            click.option(
                "--device",
                type=click.Choice(["dimm", "virtio-mem"]),
                default="dimm",
                show_default=True,
                help="How memory goes in and out of a machine: whole modules, or in steps of 2Mi.",
            ),
            click.option("--memory", type=BytesType(), default=0, help=f"How much memory to {verb}, such as 8Gi."),
            click.option(
                "--cpu", "--cpus", "cpus", type=click.IntRange(0), default=0, help=f"How many CPUs to {verb}."
            ),
            click.argument("name"),
        ):
            function = option(function)
        return function

    return decorate


@lab.command()
@click.option("--no-online", is_flag=True, help="Leave it to the guest to bring new CPUs online.")
@_size_options("add")
def plug(name: str, kubeconfig: str | None, no_online: bool, **options: Any) -> int:
    """Plug CPUs and memory into a machine or a hollow node while it runs."""
    return _change(name, kubeconfig, online=not no_online, sign=1, **options)


@lab.command()
@_size_options("take")
def unplug(name: str, kubeconfig: str | None, **options: Any) -> int:
    """Take CPUs and memory out of a machine or a hollow node while it runs.

    Exit code 3 if the guest does not let go of all of it.
    """
    return _change(name, kubeconfig, online=True, sign=-1, **options)


def _change(
    name: str,
    kubeconfig: str | None,
    *,
    online: bool,
    sign: int,
    cpus: int,
    memory: int,
    device: str,
    patience_s: float,
    data: Path,
    output: str,
) -> int:
    import msgspec

    from flexlet.apps.lab import machines
    from flexlet.engine.lab.sizing import Wish

    if not cpus and not memory:
        raise click.UsageError("say how much: --cpus N, --memory SIZE, or both")
    if machines.find(data, name) is None:
        asyncio.run(_change_hollow(name, sign * cpus, sign * memory, kubeconfig))
        return 0
    wish = msgspec.convert({"cpus": cpus, "memory": memory, "device": device, "patience_s": patience_s}, Wish)
    deed = machines.plug if sign > 0 else machines.unplug
    return _print(name, asyncio.run(deed(data, name, wish, online=online)), output)


def _print(name: str, result: "Change | Refused", output: str) -> int:
    from flexlet.core.lab.plans import Refused

    refusal = result if isinstance(result, Refused) else result.refusal
    if output == "json":
        sizes = (
            {}
            if isinstance(result, Refused)
            else {"before": _document(result.before), "after": _document(result.after)}
        )
        print_json({"name": name, **sizes, "refusal": refusal})
    elif not isinstance(result, Refused):
        for line in _lines(name, result):
            click.echo(line)
    if refusal is None:
        return 0
    say(f"refused ({refusal.reason}): {refusal.message}")
    return REFUSED


def _document(size: "Size") -> dict[str, Any]:
    inside = size.inside
    guest = (
        {"present": str(inside.present), "online": str(inside.online), "memory": inside.memory} if inside else None
    )
    return {"cpus": size.cpus, "memory": size.memory, "guest": guest}


def _lines(name: str, change: "Change") -> list[str]:
    from flexlet.core.lab.spec import text_of

    before, after = change.before, change.after
    cpus = f"{name}  cpu     {before.cpus} -> {after.cpus}"
    memory = f"{name}  memory  {text_of(before.memory)} -> {text_of(after.memory)}"
    if before.inside and after.inside:
        cpus += f"  (in the guest: {before.inside.online} -> {after.inside.online})"
        memory += f"  (in the guest: {text_of(before.inside.memory)} -> {text_of(after.inside.memory)})"
    return [cpus, memory]


async def _change_hollow(name: str, cpus: int, memory: int, kubeconfig: str | None) -> None:
    from flexlet.adapters.clock import SystemClock
    from flexlet.apps.plug import plug as change
    from flexlet.cli.connection import connect

    async with connect(kubeconfig) as cluster:
        done = await change(cluster, SystemClock(), name, cpus, memory, patience_s=30)
    for resource in ("cpu", "memory"):
        click.echo(f"{done.node}  {resource:<6}  {done.before[resource]} -> {done.after[resource]}")
