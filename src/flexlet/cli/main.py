"""The ``flexlet`` command (also installed as ``kubectl-flex``).

Only click is imported before it is known which command is wanted: `COMMANDS` names modules, and a module is loaded
when its command runs. ``flexlet --help`` prints the one-line texts of the table and loads none of them, so that it
stays as quick as Python itself allows. A new command is one line here and one file beside this one.

Errors end here: a FlexletError becomes one line on stderr and exit code 1, a reader that has gone away ends us
quietly, wrong usage is exit code 2.
"""

import importlib
import os
import sys
from typing import Any, Final

import click

from flexlet import __version__
from flexlet.errors import FlexletError

COMMANDS: Final[dict[str, tuple[str, str, str]]] = {
    # name: (module, attribute, one line of help)
    "up": ("flexlet.cli.up", "up", "Start a small cluster in one process."),
    "server": ("flexlet.cli.server", "server", "Serve the Kubernetes API alone: no scheduler, no controllers."),
    "agent": ("flexlet.cli.agent", "agent", "Be a node of a cluster: run pods on this host and resize them."),
    "controllers": (
        "flexlet.cli.controllers",
        "controllers",
        "Keep nodes and VMs of any cluster as big as their NodeSizes and FlexVMs say.",
    ),
    "get": ("flexlet.cli.get", "get", "Show how big nodes, pods and VMs are."),
    "resize": ("flexlet.cli.resize", "resize", "Ask for another size of a node, a pod or a VM."),
    "explain": ("flexlet.cli.explain", "explain", "Tell why a pod, a node or a VM is as it is."),
    "vm": ("flexlet.cli.vm", "vm", "Consoles, power switches and moves of VMs."),
    "print-manifests": (
        "flexlet.cli.manifests",
        "print_manifests",
        "Print what a cluster needs for NodeSizes and FlexVMs.",
    ),
    "calc": ("flexlet.cli.calc", "calc", "Compute what a pod or a quantity comes to, without a cluster."),
    "doctor": ("flexlet.cli.doctor", "doctor", "Check this host and the cluster, and say what to do."),
    "demo": ("flexlet.cli.demo", "demo", "See it work on a real machine, step by step."),
    "bench": ("flexlet.cli.bench", "bench", "Measure flexlet on this machine, beside Kubernetes' own programs."),
    "vm-launcher": (
        "flexlet.cli.vmlauncher",
        "vm_launcher",
        "Run a virtual machine in a pod; used by launcher pods.",
    ),
    "lab": ("flexlet.cli.lab", "lab", "Machines to try things on: plug and unplug."),
}

INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141  # what a shell reports for a command that the closed pipe has killed


class ReaderGone(Exception):
    """Whoever read our output has closed it. Not an OSError: click would end the process with exit code 1."""


class LazyGroup(click.Group):
    """A group whose commands are named in `COMMANDS` and imported on use."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGone from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none of that name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="flexlet %(version)s")
def cli() -> None:
    """Kubernetes nodes, pods and VMs that change size in place."""


def main() -> None:
    """Run the command line and exit."""
    plugin = os.path.basename(sys.argv[0]).startswith("kubectl-flex")  # noqa: PTH119 pathlib costs start-up time
    sys.exit(run(prog_name="kubectl flex" if plugin else "flexlet"))


def run(args: list[str] | None = None, prog_name: str = "flexlet") -> int:
    """Run the command line on `args` and return its exit code."""
    try:
        result: Any = cli.main(args=args, prog_name=prog_name, standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except (ReaderGone, BrokenPipeError):
        _silence_stdout()
        return PIPE_CLOSED
    except FlexletError as error:
        click.echo(f"error: {error}", err=True)
        return 1
    return result if isinstance(result, int) else 0


def _silence_stdout() -> None:
    """Let the interpreter flush what is left into nothing instead of failing at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
