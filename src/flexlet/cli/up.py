"""``flexlet up``: a whole small cluster in one process."""

import asyncio
import os
from pathlib import Path

import click

from flexlet.cli import address
from flexlet.cli.announce import announce
from flexlet.core import gates
from flexlet.errors import ConfigError


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
@click.option("--node-cpus", type=click.IntRange(1), default=8, show_default=True, help="CPUs of a hollow node.")
@click.option("--node-memory", default="32Gi", show_default=True, help="Memory of a hollow node.")
@click.option("--feature-gates", default="", metavar="A=true,B=false", help="Switch features on or off.")
def up(
    data: Path | None,
    node: str,
    listen: str,
    kubeconfig: Path | None,
    node_cpus: int,
    node_memory: str,
    feature_gates: str,
) -> None:
    """Start a cluster: API server, scheduler, controllers and nodes; Ctrl-C stops it."""
    from flexlet.adapters.clock import SystemClock
    from flexlet.api.quantity import Quantity
    from flexlet.apiserver.server import ApiServer, Settings
    from flexlet.apps.server import new_loop
    from flexlet.apps.up import Hollow
    from flexlet.apps.up import up as run
    from flexlet.core.hollow.machine import Machine

    count = _hollow_count(node)
    machine = Machine(cpus=node_cpus, memory=Quantity.parse(node_memory).value)
    data = data or default_data()
    kubeconfig = kubeconfig or data / "kubeconfig"
    host, port = address.parse(listen)
    settings = Settings(data=data, host=host, port=port, gates=gates.parse(feature_gates))

    def ready(server: ApiServer) -> None:
        nodes = f"{count} hollow node{'' if count == 1 else 's'}"
        announce(f"flexlet is up at {server.url} with {nodes}", f"export KUBECONFIG={kubeconfig}")

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(run(settings, Hollow(count, machine), kubeconfig, SystemClock(), ready))


def _hollow_count(node: str) -> int:
    kind, _, count = node.partition("=")
    if kind in {"vm", "here"}:
        raise ConfigError(
            f"--node {kind} is not available yet: use --node hollow, or hollow=N for N simulated nodes"
        )
    if kind != "hollow" or (count and not (count.isascii() and count.isdigit())):
        raise ConfigError(f"cannot read --node {node!r}: write vm, here, hollow or hollow=N")
    return int(count) if count else 1
