"""``flexlet vm-launcher``: the process beside QEMU in a launcher pod, and ways to talk to it inside the pod."""

import asyncio
import os
from pathlib import Path

import click

from flexlet.core.vm import names

_RUN_DIR = click.option(
    "--run-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(names.RUN_DIR),
    show_default=True,
    help="Directory of the machine's sockets.",
)


@click.group("vm-launcher")
def vm_launcher() -> None:
    """Run a virtual machine in a pod (used by launcher pods, not by people)."""


@vm_launcher.command()
@_RUN_DIR
def run(run_dir: Path) -> int:
    """Start the machine in FLEXLET_VM_MACHINE, or find it running, and look after it until it ends.

    The guest's serial console is the output. The exit code is 0 when the guest shut down, 3 when its kernel
    panicked, and QEMU's own (128 + signal) when QEMU failed.
    """
    from flexlet.adapters.launcher.rundir import RunDir
    from flexlet.apps import vmlauncher

    machine = vmlauncher.machine_of(os.environ.get("FLEXLET_VM_MACHINE", ""))
    return asyncio.run(vmlauncher.run(machine, RunDir(run_dir), _say))


@vm_launcher.command()
@_RUN_DIR
def talk(run_dir: Path) -> int:
    """Give orders on stdin and read reports on stdout, both as lines of JSON."""
    from flexlet.adapters.launcher import bridge
    from flexlet.adapters.launcher.rundir import RunDir

    return asyncio.run(bridge.bridged(RunDir(run_dir).control))


@vm_launcher.command()
@_RUN_DIR
def console(run_dir: Path) -> int:
    """Be at the guest's serial console; ``Ctrl-]`` ends it."""
    from flexlet.adapters.launcher import bridge
    from flexlet.adapters.launcher.rundir import RunDir

    with bridge.raw_terminal():
        return asyncio.run(bridge.bridged(RunDir(run_dir).console, bridge.ESCAPE))


def _say(text: str) -> None:
    click.echo(f"flexlet: {text}", err=True)
