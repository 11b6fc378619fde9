"""``flexlet lab create|list|start|stop|delete``: machines that stand on their own."""

import asyncio
from pathlib import Path

import click

from flexlet.cli.lab.group import BytesType, data_option, lab
from flexlet.cli.output import columns, output_option, print_json, print_lines, say


class ForwardType(click.ParamType[tuple[int, int]]):
    """``HOST:GUEST``, two port numbers."""

    name = "host:guest"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """The two numbers."""
        host, _, guest = str(value).partition(":")
        if not all(part.isascii() and part.isdigit() and 0 < int(part) < 65536 for part in (host, guest)):
            self.fail(f"{value!r} is not HOST:GUEST, two port numbers", param, ctx)
        return int(host), int(guest)


@lab.command()
@click.argument("name")
@click.option("--cpus", type=click.IntRange(1), default=2, show_default=True, help="CPUs at the start.")
@click.option("--max-cpus", type=click.IntRange(1), default=8, show_default=True, help="CPUs at most.")
@click.option("--memory", type=BytesType(), default="2Gi", show_default=True, help="Memory at the start.")
@click.option("--max-memory", type=BytesType(), default="16Gi", show_default=True, help="Memory at most.")
@click.option(
    "--forward", "forwards", type=ForwardType(), multiple=True, help="Bring a port of the guest to 127.0.0.1."
)
@click.option("--vms", "has_vms", is_flag=True, help="Bring along what virtual machines in it need.")
@data_option
def create(
    name: str,
    cpus: int,
    max_cpus: int,
    memory: int,
    max_memory: int,
    forwards: tuple[tuple[int, int], ...],
    has_vms: bool,
    data: Path,
) -> None:
    """Make a machine and start it; the image is built first if there is none."""
    from flexlet.apps.lab import machines
    from flexlet.core.lab.spec import MachineSpec

    spec = MachineSpec(name, cpus, max_cpus, memory, max_memory)
    files = {"node.env": f"NODE_NAME={name}\n".encode()}
    asyncio.run(machines.create(data, spec, files, dict(forwards), say, has_vms=has_vms))


@lab.command("list")
@data_option
@output_option
def list_machines(data: Path, output: str) -> None:
    """Show the machines."""
    from flexlet.apps.lab import machines
    from flexlet.core.lab.spec import text_of

    found = machines.listed(data)
    if output == "json":
        print_json(found)
        return
    rows = [("NAME", "STATE", "CPUS", "MEMORY", "RUNS ON")]
    for machine in found:
        cpus = f"{machine.cpus}/{machine.max_cpus}"
        memory = f"{text_of(machine.memory)}/{text_of(machine.max_memory)}"
        rows.append((machine.name, machine.state, cpus, memory, machine.accelerator))
    print_lines(columns(rows))


@lab.command()
@click.argument("name")
@data_option
def start(name: str, data: Path) -> None:
    """Start a machine, with all that was plugged when it ran last."""
    from flexlet.apps.lab import machines

    asyncio.run(machines.start(data, name, say))


@lab.command()
@click.argument("name")
@click.option("--timeout", "patience_s", type=click.FloatRange(0), default=60.0, show_default=True)
@data_option
def stop(name: str, patience_s: float, data: Path) -> None:
    """Switch a machine off; its disk and what is plugged are kept."""
    from flexlet.apps.lab import machines

    clean = asyncio.run(machines.stop(data, name, patience_s))
    say(f"machine {name} is off" if clean else f"machine {name} was ended by force after {patience_s:g} s")


@lab.command()
@click.argument("names", nargs=-1, required=True)
@data_option
def delete(names: tuple[str, ...], data: Path) -> None:
    """End machines at once and remove all they have on disk."""
    from flexlet.apps.lab import machines

    for name in names:
        asyncio.run(machines.delete(data, name))
        say(f"machine {name} is deleted")
