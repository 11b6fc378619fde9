"""What must stay in step with the pods and the machine: the cgroups above the pods, strangers, the Node.

Looked at every two seconds, and at once when somebody knows of a change; each part is done only if what it depends
on is another than the last time, so a quiet node costs next to nothing.
"""

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final

from flexlet.api import decode
from flexlet.api.node import Node
from flexlet.core.agent import orphans
from flexlet.core.agent.containers import sandbox
from flexlet.core.agent.record import ADMITTED, PodRecord
from flexlet.core.agent.world import active
from flexlet.core.node.decider import NodeDecider
from flexlet.engine.agent import present
from flexlet.engine.agent.drift import PodDrift
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.selfview import SelfView
from flexlet.engine.agent.tree import PodTree
from flexlet.engine.agent.watching import Watching
from flexlet.errors import HostError, RuntimeFault

if TYPE_CHECKING:
    from flexlet.api.nodepod import NodePod
    from flexlet.core.resize.allocation import Allocation

_PERIOD_S: Final = 2.0
_REPAIR_S: Final = 60.0
"""How often cgroups are made again that somebody may have removed or changed."""


class Cgroups:
    """The cgroups above the pods: there, and weighed by the pods in them; their size is the resizer's business."""

    def __init__(self, tree: PodTree, loop: AgentLoop, selfview: SelfView, tools: Tools) -> None:
        self._tree = tree
        self._loop = loop
        self._selfview = selfview
        self._clock = tools.clock
        self._drift = PodDrift(loop, tools)
        self._seen: dict[str, PodRecord] | None = None
        self._weighed: dict[str, tuple[NodePod, Allocation | None]] | None = None
        self._repair_at = 0.0

    async def keep(self) -> None:
        """Bring them up to date; trouble is told as the node's own."""
        try:
            await self._weigh()
            if self._clock.monotonic() >= self._repair_at:
                self._repair_at = self._clock.monotonic() + _REPAIR_S
                await self._tree.make()
                self._selfview.tell(enforcement="")
                with contextlib.suppress(RuntimeFault):
                    await self._drift.look()
        except HostError as error:
            self._selfview.tell(enforcement=str(error))

    async def _weigh(self) -> None:
        """Pods change with every answer of a probe; their weights only with what was granted to them."""
        world = self._loop.world
        if world.pods is self._seen:
            return
        admitted = {uid: each for uid, each in active(world).items() if each.admission == ADMITTED}
        weights = {uid: (each.pod, each.allocation) for uid, each in admitted.items()}
        if weights != self._weighed:
            await self._tree.pods(sandbox.as_allocated(each, world.setup) for each in admitted.values())
        self._seen, self._weighed = world.pods, weights


class Upkeep:
    """Keeps a node's surroundings in step; `run` it in a task group once every source of pods was heard."""

    def __init__(
        self,
        loop: AgentLoop,
        tools: Tools,
        cgroups: Cgroups,
        watching: Watching,
        decider: NodeDecider,
        pod_cidr: str = "",
    ) -> None:
        self._loop = loop
        self._tools = tools
        self._cgroups = cgroups
        self._watching = watching
        self._decider = decider
        self._own_cidr = pod_cidr
        self._cidr = ""
        self._published: Any = None
        self._again = asyncio.Event()

    def wake(self) -> None:
        """Look again now."""
        self._again.set()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                alarm = group.create_task(self._ring())
                await self._cgroups.keep()
                await self._ask_runtime()
                self.follow_node()
                await self._again.wait()
                alarm.cancel()
                self._again.clear()

    def follow_node(self) -> None:
        """The node's labels and taints decide who may stay."""
        node = self._decider.published
        if node is not None and node is not self._published:
            self._published = node
            self._loop.tell(present.of_node(decode.from_value(node, Node)))

    async def _ring(self) -> None:
        await self._tools.clock.sleep(_PERIOD_S)
        self._again.set()

    async def _ask_runtime(self) -> None:
        """What the runtime cannot be asked now it is asked next time."""
        try:
            await self._adopt()
            await self._tell_cidr()
        except RuntimeFault:
            return

    async def _adopt(self) -> None:
        """Pods that the runtime has and no source knows get a record that ends them."""
        unknown = [uid for uid in self._watching.known if uid not in self._loop.world.pods]
        found = [await self._tools.runtime.inspect(uid) for uid in unknown]
        now = self._tools.clock.now()
        records = {each.uid: orphans.record_of(each, now) for each in found if each.sandboxes or each.containers}
        if records:
            self._loop.tell(
                lambda world: world.with_pods({k: v for k, v in records.items() if k not in world.pods})
            )

    async def _tell_cidr(self) -> None:
        """Where the node's pods get their addresses; the cluster's word counts more than the file's."""
        cidr = ",".join(self._decider.pod_cidrs) or self._own_cidr
        if cidr != self._cidr:
            await self._tools.runtime.update_pod_cidr(cidr)
            self._cidr = cidr
