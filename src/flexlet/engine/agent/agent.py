"""The node agent: all its tasks in one group, joined at the mailbox of the loop that owns the pods.

Before anything is decided the agent has looked at its machine and its runtime, read its books, made the cgroups
above the pods and heard every source of pods once. Only static pods do not wait for the API for ever: it may be
them who serve it. Stopping the agent stops nothing else: containers run on, and the next agent takes over from
what they show.

What is not about pods one by one (eviction, rotation of logs, images nobody needs) are duties: tasks beside the
loop that read its world and tell it what they found (`take_on`).
"""

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from flexlet.api.units import PodUid
from flexlet.core.actions import RecordEvent
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.agent.world import World
from flexlet.core.machine.machine import Machine
from flexlet.core.node.decider import NodeDecider
from flexlet.core.node.facts import NodeFacts
from flexlet.core.node.settings import NodeSettings
from flexlet.core.observations import Observation
from flexlet.engine.agent import intake, podlog, present
from flexlet.engine.agent.ballooning import Ballooning
from flexlet.engine.agent.bookkeeping import Bookkeeping
from flexlet.engine.agent.choices import Choices
from flexlet.engine.agent.detecting import Detecting
from flexlet.engine.agent.hands import AgentHands, Puller, Tools, looking
from flexlet.engine.agent.hearing import Hearing
from flexlet.engine.agent.hosting import Hosting
from flexlet.engine.agent.loop import AgentLoop
from flexlet.engine.agent.resizing.following import Following
from flexlet.engine.agent.selfview import SelfView
from flexlet.engine.agent.services import Services
from flexlet.engine.agent.staticpods import StaticPods
from flexlet.engine.agent.tree import PodTree
from flexlet.engine.agent.upkeep import Cgroups, Upkeep
from flexlet.engine.agent.watching import Watching
from flexlet.engine.recorder import Recorder
from flexlet.ports.journal import Journal
from flexlet.ports.meters import Meters

if TYPE_CHECKING:
    from collections.abc import Callable

_PLEG_S: Final = 180.0
_API_PATIENCE_S: Final = 10.0
"""How long static pods wait for the API's pods, with which they share the node."""


class Duty(Protocol):
    """A task beside the loop."""

    async def run(self) -> None:
        """Until cancelled; begun when every source of pods has been heard."""
        ...


class Agent:
    """One node. `start` it, then `run` it until it is cancelled."""

    def __init__(
        self,
        settings: NodeSettings,
        setup: NodeSetup,
        tools: Tools,
        selfview: SelfView,
        detecting: Detecting,
        tree: PodTree,
        journal: Journal,
        meters: Meters,
        choices: Choices = Choices(),  # noqa: B008 frozen
    ) -> None:
        self.settings = settings
        self.tools = tools
        self.selfview = selfview
        self.detecting = detecting
        self.decider = NodeDecider(settings)
        self.started = asyncio.Event()
        """Set when every source of pods has been heard."""
        self.node_seen: Callable[[], None] = lambda: None
        """Called whenever the API has shown the Node."""
        self._clock = clock = tools.clock
        self._recorder = Recorder(tools.cluster, clock, host=settings.name)
        self._event_turn = choices.event_turn
        self._machine = Machine()
        self._concerns: tuple[object, ...] = ()
        self._duties: list[Duty] = []
        puller = Puller(tools, choices.parallel_pulls, choices.pull_qps, choices.pull_burst)
        self.hands = AgentHands(tools, puller)
        world = World(setup=setup)
        logged = podlog.LoggedJournal(journal, self._known)
        self.loop = AgentLoop(world, self.hands, clock, logged, self._record, self._forget, choices.witness)
        self.loop.watchers.append(podlog.watch)
        self.watching = Watching(tools.runtime, clock, self._look)
        self.static = StaticPods(settings.name, choices.static, self.loop, tools.runtime, clock)
        self.books = Bookkeeping(self.loop, tools, self.watching)
        self._cgroups = Cgroups(tree, self.loop, selfview, tools)
        self.ballooning = Ballooning(self.loop, tree, tools.ledger.files, clock)
        self.take_on(self.ballooning)
        self._hosting = self._hosted(choices)
        self.following = Following(
            settings, choices, detecting, tools, self.loop, tree, selfview, self.decider, meters
        )
        self._upkeep = Upkeep(self.loop, tools, self._cgroups, self.watching, self.decider, choices.pod_cidr)
        self._hearing = Hearing(settings.name, tools, self._recorder, self.decider, self.static.decider)
        self._connect()

    def _hosted(self, choices: Choices) -> Hosting | None:
        """The node's side of the host's ledger, if it shares its host."""
        if choices.host_ledger is None:
            return None
        hosting = Hosting(self.settings.name, choices.host_ledger, choices.share, self.loop, self._clock)
        self.take_on(hosting)
        return hosting

    def _connect(self) -> None:
        """Whoever learns something tells it to those who must know."""
        self.tools.tell = self.loop.tell
        self.selfview.changed = self._learned
        self.static.wake = self._hearing.mirror_loop.wake
        self._hearing.join(self._take_pods, self._take_node)

    def take_on(self, *duties: Duty) -> None:
        """Duties that begin with `run`."""
        self._duties += duties

    async def start(self) -> None:
        """Look at everything once; raises ConfigError, RuntimeFault or HostError if the node cannot run."""
        await self.tools.ledger.open()
        await self.ballooning.begin()
        self._machine = await self.following.begin()
        self.books.check(self._machine)
        facts = await self.selfview.first(self.following.counted)
        size = self.following.size(self._machine)
        if self._hosting is not None:
            await self._hosting.begin(size(self.loop.world).setup.allocatable)
        self.loop.tell(present.changed(remembered=self.tools.ledger.remembered()), size, present.of_facts(facts))

    async def run(self) -> None:
        """Until cancelled."""
        services = Services(self.tools.cluster, self._clock, self.loop)
        api = self._hearing
        first: list[Duty] = [self.loop, api.node_loop, self.selfview, self.static, self.watching, services]
        then: list[Duty] = [api.mirror_loop, self._upkeep, self.books, self.detecting, self.following]
        async with asyncio.TaskGroup() as group:
            for task in (*first, api.pods, api.node):
                group.create_task(task.run())
            await self._hear_everybody(group)
            for task in (*then, *self._duties):
                group.create_task(task.run())

    def health(self) -> str:
        """Empty while the runtime answers."""
        silent = self._clock.now() - self.watching.last_look_at
        return f"pleg was last seen active {silent:.0f}s ago" if silent > _PLEG_S else ""

    def machine(self) -> Machine:
        """The machine as it counts now."""
        return self._machine

    async def _hear_everybody(self, group: asyncio.TaskGroup) -> None:
        """Nobody is let in, and nobody is a stranger, before all pods of this node are known."""
        await self.static.read.wait()
        await self.books.look()
        alarm = group.create_task(self._go_ahead())
        await self._hearing.everything()
        alarm.cancel()
        self._upkeep.follow_node()
        self.loop.tell(self.books.listed)
        self.started.set()

    async def _go_ahead(self) -> None:
        """Static pods begin without the API."""
        await self._clock.sleep(_API_PATIENCE_S)
        if self.static.pods:
            self.loop.tell(lambda world: self.books.listed(world, heard=False))

    def _learned(self, facts: NodeFacts) -> None:
        """The node has looked at itself again."""
        self._machine = facts.machine
        if self.decider.learn(facts):
            self._hearing.node_loop.wake()
        concerns = present.concerns(facts)
        if concerns != self._concerns:
            self._concerns = concerns
            self.loop.tell(present.of_facts(facts))

    def _take_pods(self, batch: list[Observation]) -> None:
        """Pods of this node, from the API."""
        found = intake.sorted_out(batch)
        self.loop.tell(*found.pods)
        self.static.take(found.mirrors, found.gone)

    def _take_node(self, _: list[Observation]) -> None:
        """The decider has folded it already."""
        self.static.belong_to(self.decider.uid)
        self._upkeep.wake()
        self.following.preparing.wake()
        self.node_seen()

    async def _look(self, uid: str) -> None:
        """Look closely at a pod in which something happened."""
        record = self.loop.world.pods.get(uid)
        if record is not None:
            await looking.show(self.tools, record, self.loop.world)

    def _known(self, uid: str) -> PodRecord | None:
        return self.loop.world.pods.get(uid)

    async def _record(self, event: RecordEvent) -> None:
        await self._event_turn()
        await self._recorder.record(event, patiently=True)

    def _forget(self, uid: str) -> None:
        self.tools.ledger.forget(PodUid(uid))
        self.tools.objects.forget(uid)
        self.static.forgotten(uid)
