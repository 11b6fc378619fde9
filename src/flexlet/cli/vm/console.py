"""``flexlet vm console``: the serial console of a machine, joined to our terminal."""

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING, Final

import click

from flexlet.cli.output import say
from flexlet.cli.vm.group import common_options, vm
from flexlet.errors import ConfigError

if TYPE_CHECKING:
    from flexlet.adapters.kube.exec import Process

ESCAPE: Final = b"\x1d"
"""Ctrl-]"""
COMMAND: Final = ("flexlet", "vm-launcher", "console")


@vm.command()
@click.argument("name")
@common_options
def console(name: str, namespace: str, kubeconfig: str | None) -> int:
    """Use a machine's serial console; Ctrl-] leaves it, and the machine runs on."""
    return asyncio.run(_session(name, namespace, kubeconfig))


async def _session(name: str, namespace: str, kubeconfig: str | None) -> int:
    from flexlet.adapters.kube.exec import Exec
    from flexlet.cli.connection import credentials
    from flexlet.core.vm import names

    pod = await _launcher(name, namespace, kubeconfig)
    async with (
        Exec(credentials(kubeconfig)) as client,
        client.start(namespace, pod, names.CONTAINER, COMMAND) as process,
    ):
        say(f"console of {name}; Ctrl-] leaves it")
        return await joined(process)


async def _launcher(name: str, namespace: str, kubeconfig: str | None) -> str:
    """The pod in which the machine runs; ConfigError if it runs in none."""
    from flexlet.cli import reading, vmreading

    found = await reading.of_cluster(kubeconfig, lambda cluster: vmreading.get_vm(cluster, namespace, name))
    if found.status.pod is None or not found.status.pod.name:
        state = found.status.printable_status or "unknown to the controllers"
        raise ConfigError(f"VM {name} does not run (it is {state}): `flexlet vm start {name}` starts it")
    return found.status.pod.name


async def joined(process: "Process") -> int:
    """Pass keys and output until the other end ends, or somebody leaves."""
    from flexlet.cli.keyboard import raw

    with raw() if sys.stdin.isatty() else contextlib.nullcontext():
        showing = asyncio.create_task(_show(process))
        typing = asyncio.create_task(_type(process))
        try:
            await asyncio.wait({showing, typing}, return_when=asyncio.FIRST_COMPLETED)
            left = typing.done() and typing.result()
            return 0 if left else await showing
        finally:
            for task in (showing, typing):
                task.cancel()
            await asyncio.gather(showing, typing, return_exceptions=True)


async def _show(process: "Process") -> int:
    from flexlet.adapters.kube.execstatus import STDERR

    async for channel, data in process.output():
        target = sys.stderr if channel == STDERR else sys.stdout
        target.buffer.write(data)
        target.flush()
    return process.exit_code()


async def _type(process: "Process") -> bool:
    """Pass keys on; True if the last one was the escape, False if there are no more."""
    from flexlet.cli.keyboard import typed

    async for data in typed():
        before, escape, _ = data.partition(ESCAPE)
        if before:
            await process.write(before)
        if escape:
            return True
    return False
