"""``flexlet up``: a whole small cluster in one process."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from flexlet.cli.announce import announce
from flexlet.cli.apioptions import api_options, api_settings
from flexlet.cli.output import say
from flexlet.errors import ConfigError

if TYPE_CHECKING:
    from flexlet.apps.up import Nodes


def default_data() -> Path:
    """Where the cluster's data lies unless told otherwise."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "flexlet"


@click.command()
@click.option("--data", type=click.Path(file_okay=False, path_type=Path), help="Where the data lies.")
@click.option("--node", default="vm", show_default=True, help="vm, here, or hollow[=N] for N simulated nodes.")
@click.option("--listen", default="127.0.0.1:0", show_default=True, help="HOST:PORT; port 0 picks a free one.")
@click.option(
    "--write-kubeconfig",
    "kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the administrator's kubeconfig; the default is in the data directory.",
)
@click.option("--node-cpus", type=click.IntRange(1), help="CPUs of a node; 2 in a VM, 8 if hollow.")
@click.option("--node-memory", help="Memory of a node; 2Gi in a VM, 32Gi if hollow.")
@click.option("--max-cpus", type=click.IntRange(1), default=8, show_default=True, help="What a VM can grow to.")
@click.option("--max-memory", default="16Gi", show_default=True, help="What a VM can grow to.")
@click.option("--vms", "has_vms", is_flag=True, help="Let a VM bring along what virtual machines in it need.")
@click.option(
    "--node-resize-config",
    "resize",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A NodeResizeConfiguration file for the node: how it follows its machine.",
)
@api_options
def up(
    data: Path | None,
    node: str,
    listen: str,
    kubeconfig: Path | None,
    node_cpus: int | None,
    node_memory: str | None,
    max_cpus: int,
    max_memory: str,
    has_vms: bool,
    resize: Path | None,
    **options: Any,
) -> None:
    """Start a cluster: API server, scheduler, controllers and nodes; Ctrl-C stops it."""
    from flexlet.adapters.clock import SystemClock
    from flexlet.api.quantity import Quantity
    from flexlet.apiserver.server import ApiServer
    from flexlet.apps.eventloop import new_loop
    from flexlet.apps.up import up as run

    size = Size(
        cpus=node_cpus,
        memory=None if node_memory is None else Quantity.parse(node_memory).value,
        max_cpus=max_cpus,
        max_memory=Quantity.parse(max_memory).value,
        has_vms=has_vms,
    )
    nodes, words = _nodes(node, size, Following(options["feature_gates"], resize))
    data = data or default_data()
    kubeconfig = kubeconfig or data / "kubeconfig"
    settings = api_settings(data, listen, options)

    def ready(server: ApiServer) -> None:
        announce(f"flexlet is up at {server.url} with {words}", f"export KUBECONFIG={kubeconfig}")

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run(settings, nodes, kubeconfig, SystemClock(), ready, say))


class Size(NamedTuple):
    """How big nodes are; None leaves it to the kind of node."""

    cpus: int | None
    memory: int | None
    max_cpus: int
    max_memory: int
    has_vms: bool = False


class Following(NamedTuple):
    """How nodes follow their machines: gates on top of those that are on here, and a file."""

    gates: str = ""
    file: Path | None = None

    def checked(self) -> bytes:
        """The file, empty for none; ConfigError if it cannot work, before anything is started with it."""
        from flexlet.adapters import kubeletconfig

        kubeletconfig.load_resize(self.file)
        return b"" if self.file is None else self.file.read_bytes()


def _nodes(node: str, size: Size, following: Following) -> "tuple[Nodes, str]":
    """Which nodes are meant, and how to speak of them."""
    from flexlet.api.units import GIB
    from flexlet.apps.up import NODE_GATES, Here, Hollow, Vm
    from flexlet.core.hollow.machine import Machine
    from flexlet.core.lab.spec import MachineSpec

    kind, _, count = node.partition("=")
    switches = ",".join(filter(None, (NODE_GATES, following.gates)))
    if kind == "vm":
        cpus, memory = size.cpus or 2, size.memory or 2 * GIB
        spec = MachineSpec(count or "vm", cpus, max(cpus, size.max_cpus), memory, max(memory, size.max_memory))
        return Vm(spec, switches, following.checked(), size.has_vms), f"node {spec.name} in a virtual machine"
    if kind == "here":
        following.checked()
        return Here(count, switches, following.file), "this host as its node"
    if kind != "hollow" or (count and not (count.isascii() and count.isdigit())):
        raise ConfigError(f"cannot read --node {node!r}: write vm, here, hollow or hollow=N")
    if following.file is not None:
        raise ConfigError("--node-resize-config is for --node vm and here: hollow nodes have no machine to follow")
    number = int(count) if count else 1
    machine = Machine(cpus=size.cpus or 8, memory=size.memory or 32 * GIB)
    return Hollow(number, machine), f"{number} hollow node{'' if number == 1 else 's'}"
