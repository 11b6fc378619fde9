"""``flexlet controllers``: the controllers of NodeSizes and FlexVMs, for a cluster that somebody else runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from flexlet.adapters.clock import SystemClock
from flexlet.adapters.kube import incluster
from flexlet.adapters.kube.client import HttpCluster
from flexlet.adapters.vmlink.execlink import ExecLinks
from flexlet.apps import nodesize, vms
from flexlet.apps.nodesize import Addition, Metrics
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster

_AGENT: Final = "flexlet-controllers"


class Outside(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, and for which cluster."""

    kubeconfig: Path | None
    """None: as kubectl finds it, or as a pod's service account."""
    nodes: nodesize.Options
    spares_victims: bool
    """Whether the operator vouches for the gate that stock-critical balloons need."""
    machines: vms.Options | None
    """None if virtual machines are none of our business."""
    listen: tuple[str, int] | None


async def run(asked: Outside, ready: Callable[[str], None]) -> None:
    """Until SIGINT or SIGTERM; `ready` is told where metrics are, if anywhere."""
    clock = SystemClock()
    async with HttpCluster(incluster.found(asked.kubeconfig), _AGENT) as cluster:
        others = await _machines(asked, cluster, clock)
        known = await nodesize.facts(cluster.read, spares_victims=asked.spares_victims)
        guarded = msgspec.structs.replace(asked.nodes, cluster=known)
        await nodesize.run_controllers(cluster, clock, guarded, asked.listen, ready, others)


async def _machines(asked: Outside, cluster: Cluster, clock: Clock) -> dict[Addition, Metrics]:
    """Who looks after virtual machines, if anybody shall and the cluster has any."""
    if asked.machines is None or not await vms.has_kinds(cluster):
        return {}
    links = ExecLinks(lambda: incluster.found(asked.kubeconfig), _AGENT)
    return {vms.adding(clock, asked.machines, links): asked.machines.metrics}
