"""``flexlet explain vm/NAME``: from what is wanted to what the guest has, and what is in the way."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

from flexlet.adapters.clock import SystemClock
from flexlet.api.status import ApiError
from flexlet.cli import reading, vmreading
from flexlet.cli.output import columns
from flexlet.core.sizes.node import event_rows
from flexlet.core.sizes.vmstory import Known, newest, story, value
from flexlet.core.vm.objects import FlexVM
from flexlet.errors import ConfigError
from flexlet.ports.cluster import Cluster

EVENTS: Final = 15


def vm_story(name: str, namespace: str, kubeconfig: str | None) -> Iterator[str]:
    """Lines for people."""
    now, known = SystemClock().now(), _known(name, namespace, kubeconfig)
    yield f"Name:       {namespace}/{name}"
    yield from story(known, now)
    if known.events:
        yield ""
        yield from columns(event_rows(known.events, now))


def vm_value(name: str, namespace: str, kubeconfig: str | None) -> dict[str, Any]:
    """The same for programs."""
    return value(_known(name, namespace, kubeconfig))


def _known(name: str, namespace: str, kubeconfig: str | None) -> Known:
    return asyncio.run(reading.of_cluster(kubeconfig, lambda cluster: _asked(cluster, namespace, name)))


async def _asked(cluster: Cluster, namespace: str, name: str) -> Known:
    vm = await vmreading.get_vm(cluster, namespace, name)
    return Known(
        vm=vm,
        machine=vmreading.machine(await vmreading.launcher(cluster, vm)),
        headroom=await _headroom(cluster, vm),
        events=newest(await vmreading.events(cluster, vm), EVENTS),
    )


async def _headroom(cluster: Cluster, vm: FlexVM) -> dict[str, Any] | None:
    """What its node has left; owners of machines need not be allowed to see nodes."""
    if not vm.status.node_name:
        return None
    try:
        node = (await reading.node_details(cluster, vm.status.node_name)).sizes
    except (ApiError, ConfigError):
        return None
    return {name: one.headroom for name, one in node.resources.items()}
