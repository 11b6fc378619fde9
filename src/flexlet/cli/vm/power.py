"""``flexlet vm start|stop|restart``."""

import asyncio
from typing import TYPE_CHECKING

import click

from flexlet.cli.options import waiting_options
from flexlet.cli.output import say
from flexlet.cli.vm.group import common_options, vm

if TYPE_CHECKING:
    from flexlet.core.sizes.vmpower import Switch
    from flexlet.core.vm.objects import FlexVM
    from flexlet.ports.cluster import Cluster


@vm.command()
@click.argument("name")
@waiting_options
@common_options
def start(name: str, namespace: str, wait: bool, patience_s: float, kubeconfig: str | None) -> int:
    """Start a machine that is stopped (runStrategy Always)."""
    return _run("Start", name, namespace, wait, patience_s, kubeconfig)


@vm.command()
@click.argument("name")
@waiting_options
@common_options
def stop(name: str, namespace: str, wait: bool, patience_s: float, kubeconfig: str | None) -> int:
    """Shut a machine down, and leave it so (runStrategy Halted).

    The guest is asked to shut down; after its terminationGracePeriodSeconds it is ended.
    """
    return _run("Stop", name, namespace, wait, patience_s, kubeconfig)


@vm.command()
@click.argument("name")
@waiting_options
@common_options
def restart(name: str, namespace: str, wait: bool, patience_s: float, kubeconfig: str | None) -> int:
    """Shut a machine down and start it again, with everything that waits for that (RestartRequired)."""
    return _run("Restart", name, namespace, wait, patience_s, kubeconfig)


def _run(
    switch: "Switch", name: str, namespace: str, wait: bool, patience_s: float, kubeconfig: str | None
) -> int:
    from flexlet.cli.reading import of_cluster

    return asyncio.run(
        of_cluster(kubeconfig, lambda cluster: _switch(cluster, switch, namespace, name, wait, patience_s))
    )


async def _switch(
    cluster: "Cluster", switch: "Switch", namespace: str, name: str, wait: bool, patience_s: float
) -> int:
    from flexlet.adapters.clock import SystemClock
    from flexlet.api import age
    from flexlet.cli import vmreading
    from flexlet.cli.resize.following import conclude, follow
    from flexlet.core.sizes import vmpower

    clock = SystemClock()
    found = await vmreading.get_vm(cluster, namespace, name)
    before = found.status.pod.uid if found.status.pod else ""
    body = vmpower.patch(found, switch, age.format_micro(clock.now()))
    refusal = await vmreading.patch_vm(cluster, namespace, name, body)
    if refusal is not None:
        return conclude(name, refusal)
    if not wait:
        say(f"{name}: asked for; `flexlet get vms -n {namespace}` shows how far it is")
        return 0

    async def look() -> "FlexVM":
        return await vmreading.get_vm(cluster, namespace, name)

    _, end = await follow(name, clock, patience_s, look, lambda seen: vmpower.outcome(seen, switch, before))
    if end.state == "Done":
        say(f"{name}: {end.reason}")
    return conclude(name, end)
