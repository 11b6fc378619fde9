"""``flexlet lab exec|logs|console``: what goes on inside a machine."""

import asyncio
import sys
from pathlib import Path
from typing import Final

import click

from flexlet.cli.lab.group import data_option, lab

IN_GUEST: Final = {
    "agent": "/var/log/agent.log",
    "containerd": "/var/log/containerd.log",
    "guest": "/var/log/guest.log",
}
ON_HOST: Final = {"console": "console.log", "qemu": "qemu.log"}
_LOOK_S: Final = 0.5


@lab.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-i", "--stdin", is_flag=True, help="Pass our input on to the command.")
@click.option("-t", "--tty", is_flag=True, help="Run it in a terminal.")
@data_option
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def execute(name: str, command: tuple[str, ...], stdin: bool, tty: bool, data: Path) -> int:
    """Run a command in a machine, as root; without one, a shell.

    The exit code is the command's.
    """
    from flexlet.apps.lab import machines
    from flexlet.cli.lab.terminal import run

    words = [word for word in command[:1] if word != "--"] + list(command[1:])
    if not words:
        words, stdin, tty = ["sh"], True, sys.stdin.isatty()

    async def session() -> int:
        async with machines.guest(data, name) as guest:
            return await run(guest, words, stdin=stdin, tty=tty and sys.stdin.isatty())

    return asyncio.run(session())


@lab.command()
@click.argument("name")
@click.argument("which", type=click.Choice([*IN_GUEST, "kernel", *ON_HOST]), default="agent")
@click.option("-f", "--follow", is_flag=True, help="Go on as more comes, until Ctrl-C.")
@data_option
def logs(name: str, which: str, follow: bool, data: Path) -> int:
    """Print a log of a machine: of the agent in it, unless told otherwise."""
    from flexlet.apps.lab import machines
    from flexlet.cli.lab.terminal import run

    if which in ON_HOST:
        return asyncio.run(_print_file(data, name, ON_HOST[which], follow))
    words = ["tail", "-n", "+1", *(["-F"] if follow else []), IN_GUEST.get(which, "")]
    if which == "kernel":
        words = ["dmesg", *(["--follow"] if follow else [])]

    async def session() -> int:
        async with machines.guest(data, name) as guest:
            return await run(guest, words, stdin=False, tty=False)

    return asyncio.run(session())


@lab.command()
@click.argument("name")
@click.option("--no-follow", is_flag=True, help="Print what there is, and end.")
@data_option
def console(name: str, no_follow: bool, data: Path) -> int:
    """Show a machine's serial console until the machine ends (or Ctrl-C)."""
    return asyncio.run(_print_file(data, name, ON_HOST["console"], not no_follow))


async def _print_file(data: Path, name: str, file: str, follow: bool) -> int:
    from flexlet.apps.lab import machines

    path = machines.get(data, name).file(file)
    position = 0
    while True:
        running = follow and machines.is_running(data, name)
        if path.exists():
            with path.open("rb") as source:
                source.seek(position)
                click.echo(source.read(), nl=False)
                position = source.tell()
        if not running:
            return 0
        await asyncio.sleep(_LOOK_S)
