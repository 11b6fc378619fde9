"""The scheduler and the controllers of a small cluster, wired to one set of feeds.

Every resource is listed, watched and decoded once, however many deciders are told of it. The parts returned are to
be run side by side in one task group: feeds that several share, and one loop per decider.
"""

from collections.abc import Iterable
from typing import Final, Protocol

from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.kinds.table import builtin_kinds
from flexlet.core import refs
from flexlet.core.actions import Ref as Triple
from flexlet.core.controllers.collector.decider import CollectorDecider
from flexlet.core.controllers.collector.kinds import Served
from flexlet.core.controllers.daemonset.decider import DaemonSetDecider
from flexlet.core.controllers.deployment.decider import DeploymentDecider
from flexlet.core.controllers.disruption.decider import DisruptionDecider
from flexlet.core.controllers.job.decider import JobDecider
from flexlet.core.controllers.nodelifecycle.decider import NodeLifecycleDecider
from flexlet.core.controllers.podgc import PodGcDecider
from flexlet.core.controllers.replicaset.decider import ReplicaSetDecider
from flexlet.core.faults import Faults
from flexlet.core.gates import Gates
from flexlet.core.scheduling.decider import SchedulerDecider
from flexlet.core.views import budget, daemonset, deployment, job, lease, node, objects, pod, replicaset
from flexlet.core.views.objects import Viewer
from flexlet.engine.executor import Executor
from flexlet.engine.fanout import Fanout
from flexlet.engine.feed import Feed
from flexlet.engine.loop import Decider, Loop
from flexlet.engine.recorder import Recorder
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref

VIEWERS: Final[dict[Triple, Viewer]] = {
    refs.PODS: pod.view,
    refs.NODES: node.view,
    refs.LEASES: lease.view,
    refs.REPLICA_SETS: replicaset.view,
    refs.DEPLOYMENTS: deployment.view,
    refs.DAEMON_SETS: daemonset.view,
    refs.JOBS: job.view,
    refs.BUDGETS: budget.view,
}
_UNOWNED: Final = {"events"}
_CALM_S: Final = 0.05
"""Controllers that count pods wait this long for more changes: a burst of them is one report."""


class Part(Protocol):
    """Something to run until it is cancelled."""

    async def run(self) -> None:
        """Until cancelled."""
        ...


class Wiring:
    """Feeds by resource, made when the first loop asks for them."""

    def __init__(self, cluster: Cluster, clock: Clock, faults: Faults | None = None) -> None:
        self.faults = faults or Faults()
        self._cluster = cluster
        self._clock = clock
        self._recorder = Recorder(cluster, clock)
        self._fanouts: dict[Triple, Fanout] = {}
        self._loops: list[Loop] = []

    def add(self, decider: Decider, follows: Iterable[Triple], pace_s: float = _CALM_S) -> Loop:
        """A loop for a decider that is told of these resources."""
        loop = Loop(
            decider,
            (),
            Executor(self._cluster, self._recorder),
            self._clock,
            shared=[self._fanout(ref) for ref in follows],
            pace_s=pace_s,
            open_feed=self._feed,
            faults=self.faults,
        )
        self._loops.append(loop)
        return loop

    def parts(self) -> list[Part]:
        """Everything to run."""
        return [*self._fanouts.values(), *self._loops]

    def _fanout(self, ref: Triple) -> Fanout:
        if ref not in self._fanouts:
            self._fanouts[ref] = Fanout(self._feed(ref))
        return self._fanouts[ref]

    def _feed(self, ref: Triple) -> Feed:
        return Feed(
            self._cluster, self._clock, Ref(*ref), viewer=VIEWERS.get(ref, objects.view), faults=self.faults
        )


def workload_loops(cluster: Cluster, clock: Clock, kinds: Iterable[Kind] | None = None) -> list[Part]:
    """Scheduler and controllers; `kinds` are what the server serves, the built-in ones unless told."""
    wiring = Wiring(cluster, clock)
    add_workloads(wiring, kinds)
    return wiring.parts()


def add_workloads(wiring: Wiring, kinds: Iterable[Kind] | None = None) -> None:
    """Wire up the scheduler and the controllers, beside whatever else shares the feeds."""
    served = collected(builtin_kinds(Gates().enabled) if kinds is None else kinds)
    wiring.add(SchedulerDecider(), (refs.PODS, refs.NODES, refs.NAMESPACES, refs.BUDGETS), pace_s=0.0)
    wiring.add(ReplicaSetDecider(), (refs.REPLICA_SETS, refs.PODS))
    wiring.add(DeploymentDecider(), (refs.DEPLOYMENTS, refs.REPLICA_SETS))
    wiring.add(DaemonSetDecider(), (refs.DAEMON_SETS, refs.NODES, refs.PODS))
    wiring.add(JobDecider(), (refs.JOBS, refs.PODS))
    wiring.add(NodeLifecycleDecider(), (refs.NODES, refs.LEASES, refs.PODS))
    wiring.add(PodGcDecider(), (refs.NODES, refs.PODS))
    wiring.add(DisruptionDecider(), (refs.BUDGETS, refs.REPLICA_SETS, refs.DEPLOYMENTS, refs.PODS))
    wiring.add(CollectorDecider(served), [one.ref for one in served])


def collected(kinds: Iterable[Kind]) -> list[Served]:
    """The kinds whose objects can own others or be owned."""
    return [
        Served((kind.group, kind.version, kind.plural), kind.kind, kind.namespaced)
        for kind in kinds
        if kind.stored and kind.storage_version and kind.plural not in _UNOWNED
    ]
