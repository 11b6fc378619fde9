"""``flexlet agent``: be a node of a cluster."""

import asyncio
from pathlib import Path

import click

from flexlet.cli import address
from flexlet.cli.output import say
from flexlet.errors import ConfigError


@click.command()
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="How to reach the API server; with --bootstrap-kubeconfig it is written by the agent.",
)
@click.option(
    "--bootstrap-kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Credentials that may only ask for the node's own certificate.",
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A KubeletConfiguration file.",
)
@click.option(
    "--node-resize-config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A NodeResizeConfiguration file: how the node follows its machine.",
)
@click.option("--node-name", default="", help="The node's name; the host's own by default.")
@click.option("--node-ip", "node_ips", multiple=True, help="The node's address; twice for both families.")
@click.option("--node-labels", default="", metavar="A=1,B=2", help="Labels for a new node.")
@click.option(
    "--root-dir",
    "root",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("/var/lib/kubelet"),
    show_default=True,
    help="Where volumes, checkpoints and the journal lie.",
)
@click.option(
    "--listen",
    default="",
    metavar="HOST:PORT",
    help="The node's endpoint, for example 0.0.0.0:10250; port 0 picks a free one.",
)
@click.option("--feature-gates", default="", metavar="A=true,B=false", help="Switch features on or off.")
@click.option(
    "--share",
    default="",
    metavar="I/N",
    help="Agent I of N on this host: offer an Nth of it, or begin with that where there is a --host-ledger.",
)
@click.option(
    "--host-ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A file that all agents of this host share: each offers the whole host, and gets what others do not use.",
)
@click.option(
    "--balloon-pending",
    is_flag=True,
    help="A new node lets nobody in until its NodeSize has its balloon (taint flexlet.io/balloon-pending).",
)
@click.option(
    "--shutdown-on-sigterm",
    is_flag=True,
    help="SIGTERM means that the machine goes down: end the pods first, as shutdownGracePeriod says.",
)
@click.option("--verbose", "-v", is_flag=True, help="Log what is done.")
def agent(
    kubeconfig: Path,
    bootstrap_kubeconfig: Path | None,
    config: Path | None,
    node_resize_config: Path | None,
    node_name: str,
    node_ips: tuple[str, ...],
    node_labels: str,
    root: Path,
    listen: str,
    feature_gates: str,
    share: str,
    host_ledger: Path | None,
    balloon_pending: bool,
    shutdown_on_sigterm: bool,
    verbose: bool,
) -> None:
    """Run pods on this host as a node of a cluster; Ctrl-C stops the agent, not the pods.

    SIGHUP makes it look at its machine at once: send it after a plug that the kernel tells nobody of.
    """
    from flexlet.apps.agent import AgentOptions, run_agent
    from flexlet.apps.frugality import frugal_loop, settle
    from flexlet.core.gates import parse_switches
    from flexlet.core.machine import sharing

    options = AgentOptions(
        kubeconfig=kubeconfig,
        bootstrap_kubeconfig=bootstrap_kubeconfig,
        config=config,
        node_resize_config=node_resize_config,
        node_name=node_name,
        node_ips=node_ips,
        labels=_labels(node_labels),
        root=root,
        listen=address.parse(listen) if listen else None,
        feature_gates=parse_switches(feature_gates),
        share=sharing.parse(share) if share else sharing.WHOLE,
        host_ledger=host_ledger,
        balloon_pending=balloon_pending,
        shutdown_on_sigterm=shutdown_on_sigterm,
        verbose=verbose,
    )

    def ready(name: str) -> None:
        say(f"flexlet agent runs node {name}")
        settle()

    with asyncio.Runner(loop_factory=frugal_loop) as runner:
        runner.run(run_agent(options, ready))


def _labels(text: str) -> dict[str, str]:
    found = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise ConfigError(f"cannot read --node-labels {part!r}: write NAME=VALUE")
        found[name] = value
    return found
