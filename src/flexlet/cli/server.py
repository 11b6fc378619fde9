"""``flexlet server``: an API server in one process, on one directory of data."""

import asyncio
from pathlib import Path

import click

from flexlet.cli import address
from flexlet.cli.announce import announce
from flexlet.core import gates


@click.command()
@click.option(
    "--data", type=click.Path(file_okay=False, path_type=Path), required=True, help="Where the data lies."
)
@click.option("--listen", default="127.0.0.1:0", show_default=True, help="HOST:PORT; port 0 picks a free one.")
@click.option(
    "--write-kubeconfig",
    "kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a complete kubeconfig of the administrator here.",
)
@click.option("--feature-gates", default="", metavar="A=true,B=false", help="Switch features on or off.")
def server(data: Path, listen: str, kubeconfig: Path | None, feature_gates: str) -> None:
    """Serve the Kubernetes API until interrupted; prints one line when it is ready."""
    from flexlet.apiserver.server import ApiServer, Settings
    from flexlet.apps.eventloop import new_loop
    from flexlet.apps.server import serve

    host, port = address.parse(listen)
    settings = Settings(data=data, host=host, port=port, gates=gates.parse(feature_gates))

    def ready(running: ApiServer) -> None:
        hint = f"; export KUBECONFIG={kubeconfig}" if kubeconfig else ""
        announce(f"flexlet server is ready at {running.url}{hint}")

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(serve(settings, kubeconfig, ready))
