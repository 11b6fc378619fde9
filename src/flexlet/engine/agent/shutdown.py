"""Ends all pods in order because the machine goes down.

From the moment it begins the node is not ready and lets nobody in. It is over when every pod has ended, or has had
its time, and the API has been told so as far as it could be.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from flexlet.core.agent.world import TERMINAL, World, active
from flexlet.core.kubeletconfig.config import ShutdownPeriod
from flexlet.core.node.facts import READY
from flexlet.core.shutdown import Shutdown, waves
from flexlet.engine.agent.endings import alive, ended
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.selfview import SelfView
from flexlet.ports.clock import Clock
from flexlet.ports.meters import Meters

_LOOK_S: Final = 1.0
_LAST_WORDS_S: Final = 5.0
"""How long the last pods may take to be gone, and their reports to arrive, after their time is over."""


class NodeShutdown:
    """One shutdown of one node."""

    def __init__(
        self,
        periods: Sequence[ShutdownPeriod],
        loop: AgentLoop,
        selfview: SelfView,
        clock: Clock,
        meters: Meters,
        node: Callable[[], dict[str, Any] | None] = lambda: None,
    ) -> None:
        """`node` is the Node as the API has it, None if there is none to tell."""
        self._periods = periods
        self._loop = loop
        self._selfview = selfview
        self._clock = clock
        self._meters = meters
        self._node = node

    async def run(self) -> None:
        """Until it is over."""
        self._meters.set("kubelet_graceful_shutdown_start_time_seconds", value=self._clock.now())
        self._selfview.tell(shutting_down=True)
        await self._end_pods()
        await self._wait_for_reports()
        self._meters.set("kubelet_graceful_shutdown_end_time_seconds", value=self._clock.now())

    async def _end_pods(self) -> None:
        pods = [record.pod for record in active(self._loop.world).values()]
        shutdown = Shutdown(waves(pods, self._periods))
        while not (step := shutdown.decide(alive(self._loop.world), self._clock.now())).is_over:
            if step.endings:
                self._loop.tell(ended(step.endings))
            await self._clock.sleep(_LOOK_S)

    async def _wait_for_reports(self) -> None:
        until = self._clock.now() + _LAST_WORDS_S
        while (_is_untold(self._loop.world) or _is_ready(self._node())) and self._clock.now() < until:
            await self._clock.sleep(_LOOK_S)


def _is_untold(world: World) -> bool:
    """Whether a pod that was ended still runs, or the API does not know its end yet."""
    return any(
        record.ending is not None and not record.gone and (record.reported or {}).get("phase") not in TERMINAL
        for record in world.pods.values()
    )


def _is_ready(node: dict[str, Any] | None) -> bool:
    """Whether the API still takes the node for a good one."""
    conditions = [] if node is None else node.get("status", {}).get("conditions") or []
    return any(each.get("type") == READY and each.get("status") == "True" for each in conditions)
