"""Reads how kubelets of sized nodes are configured, for the shape of their balloons.

Once a node, and again now and then, since a kubelet may come back with another configuration. Who may not read it
(it needs ``nodes/proxy``) loses nothing but time: a wrong shape shows in the first refusal.
"""

import logging
from collections.abc import Callable
from typing import Final

from flexlet.api.status import ApiError
from flexlet.core.nodesize import shapes
from flexlet.core.nodesize.decider import NodeSizeDecider
from flexlet.errors import InputError
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Cluster, Ref

log: Final = logging.getLogger(__name__)
EVERY_S: Final = 300.0
LOOK_S: Final = 5.0


class Configurations:
    """Asks each kubelet once in a while."""

    def __init__(self, decider: NodeSizeDecider, cluster: Cluster, clock: Clock, wake: Callable[[], None]) -> None:
        self._decider = decider
        self._cluster = cluster
        self._clock = clock
        self._wake = wake
        self._asked: dict[str, float] = {}

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.look()
            await self._clock.sleep(LOOK_S)

    async def look(self) -> None:
        """Ask those that are due."""
        now = self._clock.monotonic()
        for name in self._decider.kubelets():
            if now >= self._asked.get(name, 0.0):
                self._asked[name] = now + EVERY_S
                await self._ask(name)

    async def _ask(self, name: str) -> None:
        try:
            raw = await self._cluster.get(Ref("", "v1", f"nodes/{name}/proxy"), "", "configz")
            self._decider.learn_policies(name, shapes.from_configz(raw))
        except (ApiError, InputError) as error:
            log.debug("cannot read the configuration of node %s: %s", name, error)
        else:
            self._wake()
