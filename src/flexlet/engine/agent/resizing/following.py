"""The node and its machine: looked at when the agent starts, and followed from then on if the gates say so."""

import asyncio
from typing import Final

from flexlet.api.pod import ResourceList
from flexlet.core.agent.world import World
from flexlet.core.detection.steps import HALF_PLUGGED, Note
from flexlet.core.hotplug.view import NodeView, view
from flexlet.core.machine.allocatable import capped
from flexlet.core.machine.machine import Machine
from flexlet.core.node.decider import NodeDecider
from flexlet.core.node.settings import NodeSettings
from flexlet.core.resources.names import MEMORY
from flexlet.engine.agent.choices import Choices
from flexlet.engine.agent.detecting import Detecting
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.agent.loop import AgentLoop, Change, replaced
from flexlet.engine.agent.resizing.book import Generations
from flexlet.engine.agent.resizing.doing import Doing
from flexlet.engine.agent.resizing.execution import PlanExecution
from flexlet.engine.agent.resizing.late import Late
from flexlet.engine.agent.resizing.looking import Looking
from flexlet.engine.agent.resizing.pending import PendingSize
from flexlet.engine.agent.resizing.preparing import Preparing
from flexlet.engine.agent.resizing.resizer import NodeResizer
from flexlet.engine.agent.resizing.roommaking import RoomMaking
from flexlet.engine.agent.resizing.saying import Saying
from flexlet.engine.agent.resizing.waiting import Patience
from flexlet.engine.agent.selfview import SelfView
from flexlet.engine.agent.tree import PodTree
from flexlet.ports.meters import Meters

_HARD: Final = ("memory.", "hugetlb.")


class Following:
    """`begin`, then `run` once every source of pods was heard."""

    def __init__(
        self,
        settings: NodeSettings,
        choices: Choices,
        detecting: Detecting,
        tools: Tools,
        loop: AgentLoop,
        tree: PodTree,
        selfview: SelfView,
        decider: NodeDecider,
        meters: Meters,
    ) -> None:
        self._settings = settings
        self._detecting = detecting
        self._resize = choices.resize
        self._tree = tree
        self._loop = loop
        self._enforce = choices.enforce
        patience = Patience(tools.clock)
        self._generations = generations = Generations(tools.ledger.files, tools.clock)
        generations.left_now = detecting.left_offline
        looking = Looking(tools.host, tools.cgroups, loop, settings, self._resize, enforce=self._enforce)
        doing = Doing(tools, loop, tree, decider, meters, patience)
        saying = Saying(selfview)
        pending = PendingSize(tools.clock, self._resize)
        pending.signs = detecting.signs
        self.execution = PlanExecution(generations, doing, loop, saying, pending, tools.clock, meters)
        late = Late(generations, looking, doing)
        self.resizer = NodeResizer(generations, looking, late, self.execution, loop, saying, pending, tools.clock)
        room = RoomMaking(tools, loop, tree, detecting, decider)
        self.preparing = Preparing(
            settings,
            generations,
            self.resizer,
            looking,
            detecting,
            room,
            tools,
            loop,
            decider,
            saying,
            self._whole,
        )
        self._ceiling: ResourceList = {}
        self.counted = Machine()
        """The size that counts when the agent starts; its machine may be another by now."""
        patience.interrupted = self.resizer.interrupted
        detecting.apply = self.resizer.wish
        detecting.noted = self._noted

    async def begin(self) -> Machine:
        """Look at the machine, and hold all pods to it; HostError if it cannot be looked at."""
        machine = await self._detecting.first()
        # After a shrink that nobody saw, pods keep what they were held to until they have been squeezed.
        held = await self._resume(machine) if self._resize.plug else await self._remember(machine)
        self.counted = held
        await self._tree.make()
        size = self.view(held)
        # What limits memory is left as it is if a shrink is under way, for the kernel would kill those who were
        # promised their time; and below the reservations, where what critical pods use is not known yet.
        unfinished = self._resize.plug and self.resizer.is_unfinished
        careful = unfinished or MEMORY in size.below_reserved
        files = {name: text for name, text in size.kubepods.items() if not (careful and name.startswith(_HARD))}
        await self._tree.hold(files, size.host.hugepage_sizes)
        return machine

    def size(self, machine: Machine) -> Change:
        """The node is as large as this machine."""
        found = self.view(machine)
        offered = capped(found.allocatable, self._ceiling)
        return replaced(machine=machine, allocatable=offered, ceiling=self._ceiling, host=found.host)

    def look_again(self) -> None:
        """Somebody says that the machine changed."""
        self._detecting.look_again()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.resizer.run())
            if self._resize.plug:
                group.create_task(self.preparing.run())

    async def _resume(self, machine: Machine) -> Machine:
        held = await self.resizer.begin(machine, self._resize)
        self._detecting.leave_offline(self._generations.left_before)
        self._ceiling = self.preparing.begin(machine)
        return held

    async def _remember(self, machine: Machine) -> Machine:
        """Nobody follows the machine; whoever does later knows which size containers were started for."""
        await self._generations.open(machine, self._resize)
        return machine

    def _whole(self, world: World) -> ResourceList:
        """What pods may have of the machine that counts."""
        return self.view(world.setup.machine).allocatable

    def view(self, machine: Machine) -> NodeView:
        """The node with this machine."""
        return view(machine, self._settings, self._loop.world.setup.managers, enforce=self._enforce)

    def _noted(self, note: Note) -> None:
        known = self._detecting.machine
        parts = known.half_plugged if known is not None and note.reason == HALF_PLUGGED else None
        self.resizer.found_half_plugged(parts)
