"""What the hands work with: every port, and the agent's own books."""

import itertools
from collections.abc import Callable

from flexlet.core.agent.observations import PodObservation
from flexlet.engine.agent.ledger import Ledger
from flexlet.engine.agent.objects import Objects
from flexlet.ports.cgroups import CgroupTree
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster
from flexlet.ports.host import HostReader
from flexlet.ports.oomscores import OomScores
from flexlet.ports.podfiles import PodFiles
from flexlet.ports.prober import Prober
from flexlet.ports.runtime import Runtime

Tell = Callable[[PodObservation], None]


class Tools:
    """Handed to every hand; holds, does nothing."""

    def __init__(
        self,
        *,
        runtime: Runtime,
        cgroups: CgroupTree,
        files: PodFiles,
        prober: Prober,
        cluster: Cluster,
        clock: Clock,
        ledger: Ledger,
        host: HostReader,
        scores: OomScores,
    ) -> None:
        self.runtime = runtime
        self.cgroups = cgroups
        self.files = files
        self.prober = prober
        self.cluster = cluster
        self.clock = clock
        self.ledger = ledger
        self.host = host
        self.scores = scores
        self.objects = Objects(cluster, clock)
        self.tell: Tell = lambda _: None
        """Set by whoever owns the mailbox."""
        self._orders = itertools.count(1)

    def order(self) -> int:
        """A number larger than all before: looks and steps are told apart by it."""
        return next(self._orders)
