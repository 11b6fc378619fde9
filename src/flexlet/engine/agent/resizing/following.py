"""The node and its machine: looked at when the agent starts, and followed from then on if the gates say so."""

from flexlet.core.detection.steps import HALF_PLUGGED, Note
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.view import NodeView, view
from flexlet.core.machine.machine import Machine
from flexlet.core.node.decider import NodeDecider
from flexlet.core.node.settings import NodeSettings
from flexlet.engine.agent.detecting import Detecting
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.agent.loop import AgentLoop, Change, replaced
from flexlet.engine.agent.resizing.book import Generations
from flexlet.engine.agent.resizing.doing import Doing
from flexlet.engine.agent.resizing.looking import Looking
from flexlet.engine.agent.resizing.resizer import NodeResizer
from flexlet.engine.agent.resizing.waiting import Patience
from flexlet.engine.agent.selfview import SelfView
from flexlet.engine.agent.tree import PodTree
from flexlet.ports.meters import Meters


class Following:
    """`begin`, then `run` once every source of pods was heard."""

    def __init__(
        self,
        settings: NodeSettings,
        detecting: Detecting,
        resize: ResizeSettings,
        tools: Tools,
        loop: AgentLoop,
        tree: PodTree,
        selfview: SelfView,
        decider: NodeDecider,
        meters: Meters,
        *,
        enforce: bool = True,
    ) -> None:
        self._settings = settings
        self._detecting = detecting
        self._resize = resize
        self._tree = tree
        self._loop = loop
        self._enforce = enforce
        patience = Patience(tools.clock)
        generations = Generations(tools.ledger.files, tools.clock)
        looking = Looking(tools.host, tools.cgroups, loop, settings, resize, enforce=enforce)
        doing = Doing(tools, loop, tree, decider, meters, patience)
        self.resizer = NodeResizer(generations, looking, doing, loop, selfview, tools.clock, meters)
        patience.interrupted = self.resizer.interrupted
        detecting.apply = self.resizer.wish
        detecting.noted = self._noted

    async def begin(self) -> Machine:
        """Look at the machine, and hold all pods to it; HostError if it cannot be looked at."""
        machine = await self._detecting.first()
        # After a shrink that nobody saw, pods keep what they were held to until they have been squeezed.
        held = await self.resizer.begin(machine, self._resize) if self._resize.plug else machine
        await self._tree.make()
        size = self._view(held)
        await self._tree.hold(size.kubepods, size.host.hugepage_sizes)
        return machine

    def size(self, machine: Machine) -> Change:
        """The node is as large as this machine."""
        found = self._view(machine)
        return replaced(machine=machine, allocatable=found.allocatable, host=found.host)

    def look_again(self) -> None:
        """Somebody says that the machine changed."""
        self._detecting.look_again()

    async def run(self) -> None:
        """Until cancelled."""
        await self.resizer.run()

    def _view(self, machine: Machine) -> NodeView:
        return view(machine, self._settings, self._loop.world.setup.managers, enforce=self._enforce)

    def _noted(self, note: Note) -> None:
        known = self._detecting.machine
        parts = known.half_plugged if known is not None and note.reason == HALF_PLUGGED else None
        self.resizer.found_half_plugged(parts)
