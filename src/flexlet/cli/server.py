"""``flexlet server``: an API server in one process, on one directory of data."""

import asyncio
from pathlib import Path
from typing import Any

import click

from flexlet.cli import serverdata
from flexlet.cli.announce import announce
from flexlet.cli.apioptions import api_options, api_settings


class ServerGroup(click.Group):
    """Serves without a subcommand; with one, looks after the data of a server."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take `--data` as required only when serving."""
        rest = super().parse_args(ctx, args)
        if ctx.params["data"] is None and not ctx.protected_args and not ctx.resilient_parsing:
            raise click.MissingParameter(ctx=ctx, param=next(p for p in self.params if p.name == "data"))
        return rest


@click.group(cls=ServerGroup, invoke_without_command=True, no_args_is_help=False)
@click.option("--data", type=click.Path(file_okay=False, path_type=Path), help="Where the data lies.  [required]")
@click.option("--listen", default="127.0.0.1:0", show_default=True, help="HOST:PORT; port 0 picks a free one.")
@click.option(
    "--write-kubeconfig",
    "kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a complete kubeconfig of the administrator here.",
)
@api_options
@click.pass_context
def server(ctx: click.Context, /, data: Path, listen: str, kubeconfig: Path | None, **options: Any) -> None:
    """Serve the Kubernetes API until interrupted; prints one line when it is ready.

    With a command: look after the data of a server.
    """
    if ctx.invoked_subcommand is None:
        _serve(data, listen, kubeconfig, options)


def _serve(data: Path, listen: str, kubeconfig: Path | None, options: dict[str, Any]) -> None:
    from flexlet.apiserver.server import ApiServer
    from flexlet.apps.eventloop import new_loop
    from flexlet.apps.server import serve

    settings = api_settings(data, listen, options)

    def ready(running: ApiServer) -> None:
        hint = f"; export KUBECONFIG={kubeconfig}" if kubeconfig else ""
        announce(f"flexlet server is ready at {running.url}{hint}")

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(serve(settings, kubeconfig, ready))


for _command in (serverdata.backup, serverdata.restore, serverdata.check):
    server.add_command(_command)
