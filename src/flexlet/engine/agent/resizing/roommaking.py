"""The hands of a prepared unplug: pods are evicted, CPUs emptied, parts switched.

Whatever comes of it is seen on the machine and in the API; only a refusal of the kernel has to be told.
"""

import asyncio
import logging
from typing import Final

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.api.pod import ResourceList
from flexlet.api.status import ApiError
from flexlet.core.agent import pinning
from flexlet.core.hotplug.preparing import BringOnline, Evict, FreeMemory, TakeOffline
from flexlet.core.machine.parts import PartRefused
from flexlet.core.node.decider import NodeDecider
from flexlet.core.node.status import amounts
from flexlet.engine.agent.detecting import Detecting
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.resizing.waiting import Patience
from flexlet.engine.agent.tree import PodTree
from flexlet.errors import HostError
from flexlet.ports.cluster import PODS

log: Final = logging.getLogger(__name__)

_API_PATIENCE_S: Final = 5.0
"""How long pods are spared for the cluster to hear first that the node offers less."""
_ANSWER_S: Final = 30.0
_PIN_PATIENCE_S: Final = 10.0


class RoomMaking:
    """Does; `prepared` decides."""

    def __init__(
        self, tools: Tools, loop: AgentLoop, tree: PodTree, detecting: Detecting, decider: NodeDecider
    ) -> None:
        self._tools = tools
        self._tree = tree
        self._loop = loop
        self._detecting = detecting
        self._decider = decider
        self._patience = Patience(tools.clock)

    async def evict(self, step: Evict, ceiling: ResourceList) -> str:
        """Ask the API to evict a pod, once the cluster cannot send another in its place; why it refuses, if so."""
        await self._patience.until(lambda: self._is_known(ceiling), _API_PATIENCE_S)
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": step.name, "namespace": step.namespace},
            "deleteOptions": {"preconditions": {"uid": step.uid}},
        }
        try:
            async with asyncio.timeout(_ANSWER_S):
                await self._tools.cluster.create(PODS, step.namespace, body, path=f"{step.name}/eviction")
        except (ApiError, TimeoutError) as error:
            refusal = _refusal(error)
            log.info("pod %s/%s is not evicted now: %s", step.namespace, step.name, refusal)
            return refusal
        return ""

    async def free(self, step: FreeMemory) -> int:
        """Squeeze all pods for a while; what they use if that is still too much, else 0."""
        if await self._tree.used() <= step.limit:
            return 0
        await self._tree.hold({"memory.high": str(step.limit)})
        try:
            fits = await self._patience.until(lambda: self._fits(step.limit), step.wait_s)
            return 0 if fits else await self._tree.used()
        finally:
            await self._tree.hold({"memory.high": "max"})

    async def drained(self, cpus: CpuSet) -> None:
        """Until no container is about to leave these CPUs; who cannot be moved now holds nobody up."""

        async def are_left() -> bool:
            return not pinning.due(self._loop.world, self._tools.clock.now()).leaving & cpus

        await self._patience.until(are_left, _PIN_PATIENCE_S)

    async def switch(self, step: TakeOffline | BringOnline) -> PartRefused | None:
        """Switch a part; one that nobody may switch has refused, too."""
        parts = self._detecting.parts
        try:
            if isinstance(step, TakeOffline):
                return await parts.offline(step.part, step.timeout_s)
            return await parts.online(step.part, step.as_)
        except HostError as error:
            return PartRefused(part=step.part, reason="EACCES", message=str(error))

    async def _fits(self, limit: int) -> bool:
        return await self._tree.used() <= limit

    async def _is_known(self, ceiling: ResourceList) -> bool:
        status = (self._decider.published or {}).get("status", {})
        told = amounts(status.get("allocatable"))
        return all(name in told and told[name] <= amount for name, amount in ceiling.items())


def _refusal(error: ApiError | TimeoutError) -> str:
    """In the words of the API; the causes name the disruption budget."""
    if isinstance(error, TimeoutError):
        return "the API did not answer"
    details = error.status.details
    causes = [] if isinstance(details, msgspec.UnsetType) else [each.message for each in details.causes]
    return "; ".join(filter(None, causes)) or str(error)
