"""The node agent: all its tasks in one group, joined at the mailbox of the loop that owns the pods.

Before anything is decided the agent has looked at its machine and its runtime, read its books, made the cgroups
above the pods and heard every source of pods once. Stopping it stops nothing else: containers run on, and the next
agent takes over from what they show.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

import msgspec

from flexlet.api import decode
from flexlet.api.node import Node
from flexlet.api.pod import ResourceList
from flexlet.api.units import Bytes
from flexlet.core.agent import orphans
from flexlet.core.agent.containers import sandbox
from flexlet.core.agent.record import ADMITTED
from flexlet.core.agent.setup import NodeSetup, Service, ServicePort
from flexlet.core.agent.world import Remembered, World, active
from flexlet.core.cgroups.settings import Host
from flexlet.core.machine.allocatable import allocatable
from flexlet.core.machine.machine import Machine
from flexlet.core.node.decider import NodeDecider
from flexlet.core.node.facts import NodeFacts
from flexlet.core.node.settings import NodeSettings
from flexlet.core.node.status import node_capacity
from flexlet.core.observations import Seen, Vanished
from flexlet.engine.agent import intake
from flexlet.engine.agent.hands import AgentHands, Puller, Tools, looking
from flexlet.engine.agent.loop import AgentLoop, Change, replaced
from flexlet.engine.agent.selfview import SelfView
from flexlet.engine.agent.tree import PodTree
from flexlet.engine.agent.watching import Watching
from flexlet.engine.executor import Executor
from flexlet.engine.feed import Feed
from flexlet.engine.loop import Loop
from flexlet.engine.recorder import Recorder
from flexlet.errors import HostError, RuntimeFault
from flexlet.ports.cluster import NODES, PODS, Ref
from flexlet.ports.journal import Journal

_SERVICES: Final = Ref("", "v1", "services")
_TIDY_S: Final = 2.0
_PLEG_S: Final = 180.0


class Agent:
    """One node. `start` it, then `run` it until it is cancelled."""

    def __init__(
        self,
        settings: NodeSettings,
        setup: NodeSetup,
        tools: Tools,
        selfview: SelfView,
        tree: PodTree,
        journal: Journal,
        *,
        parallel_pulls: int | None = 1,
        grows: bool = False,
    ) -> None:
        self.settings = settings
        self.tools = tools
        self.selfview = selfview
        self.decider = NodeDecider(settings)
        self._tree = tree
        self._grows = grows
        self._clock = tools.clock
        self._recorder = Recorder(tools.cluster, tools.clock, host=settings.name)
        self._services: dict[tuple[str, str], Service] = {}
        self._listed = asyncio.Event()
        self._machine: Machine = Machine()
        self.loop = AgentLoop(
            World(setup=setup),
            AgentHands(tools, Puller(tools, parallel_pulls)),
            tools.clock,
            journal,
            self._recorder.record,
            self._forget,
        )
        tools.tell = self.loop.tell
        self.watching = Watching(tools.runtime, tools.clock, self._look)
        feed = Feed(tools.cluster, tools.clock, NODES, field_selector=f"metadata.name={settings.name}")
        self._node_loop = Loop(self.decider, [feed], Executor(tools.cluster, self._recorder), tools.clock)
        selfview.changed = self._learned

    async def start(self) -> None:
        """Look at everything once; raises ConfigError, RuntimeFault or HostError if the node cannot run."""
        await self.tools.ledger.open()
        facts = await self.selfview.first()
        self._machine = facts.machine
        await self._hold()
        books = self.tools.ledger
        uids = {*books.allocated.uids(), *books.actuated.uids()}
        remembered = {uid: Remembered(books.allocated.get(uid), books.actuated.get(uid)) for uid in uids}
        self.loop.tell(self._change(remembered=remembered), self._present(facts))

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.loop.run())
            group.create_task(self._node_loop.run())
            group.create_task(self.selfview.run())
            group.create_task(self._take_in())
            group.create_task(self._follow_services())
            group.create_task(self._tidy())
            await self._listed.wait()
            group.create_task(self.watching.run())

    def health(self) -> str:
        """Empty while the runtime answers."""
        silent = self._clock.now() - self.watching.last_look_at
        return f"pleg was last seen active {silent:.0f}s ago" if silent > _PLEG_S else ""

    def machine(self) -> Machine:
        """The machine as it counts now."""
        return self._machine

    def _learned(self, facts: NodeFacts) -> None:
        """The node has looked at itself again."""
        if self._machine.cpus and not self._grows:
            # Without its gate hot plug is not looked at: what the node started with is what it has.
            facts = msgspec.structs.replace(facts, machine=self._machine)
        self._machine = facts.machine
        if self.decider.learn(facts):
            self._node_loop.wake()
        self.loop.tell(self._present(facts))

    def _present(self, facts: NodeFacts) -> Change:
        """The node's setup as of now; an unchanged one wakes nobody."""
        network = None if facts.runtime is None else facts.runtime.condition("NetworkReady")
        fields = {
            "allocatable": self._allocatable(facts.machine),
            "host": _host(facts.machine, self._allocatable(facts.machine)),
            "ips": tuple(each.address for each in facts.addresses if each.type == "InternalIP"),
            "runtime_ready": facts.runtime is not None and facts.runtime.condition("RuntimeReady").status,
            "network_ready": network is not None and network.status,
            "network_message": "" if network is None else _condition_text(network.reason, network.message),
            "handlers": () if facts.runtime is None else facts.runtime.handlers,
        }
        pressures = tuple(sorted(facts.pressures))

        def change(world: World) -> World:
            after = replaced(**fields)(world)
            same = after.setup == world.setup and pressures == world.pressures
            if same and facts.shutting_down == world.shutting_down:
                return world
            return msgspec.structs.replace(after, pressures=pressures, shutting_down=facts.shutting_down)

        return change

    def _allocatable(self, machine: Machine) -> ResourceList:
        return allocatable(node_capacity(self.settings, machine, {}), self.settings.reservation)

    async def _hold(self) -> None:
        """Hold all pods together to what the machine has."""
        capacity = node_capacity(self.settings, self._machine, {})
        await self._tree.node(capacity, self._machine.hugepages)
        self.selfview.tell(enforcement="")

    def _change(self, **fields: object) -> Change:
        return lambda world: msgspec.structs.replace(world, **fields)

    async def _take_in(self) -> None:
        """Pods of this node, from the API."""
        name = self.settings.name
        feed = Feed(self.tools.cluster, self._clock, PODS, field_selector=f"spec.nodeName={name}")
        async for batch in feed.batches():
            self.loop.tell(*intake.observations(batch))
            if not self._listed.is_set():
                await self._know_everything()

    async def _know_everything(self) -> None:
        """The API has been heard; so has the node's own Node, whose labels decide who may stay."""
        node = self.decider.published
        if node is not None:
            self.loop.tell(self._change(node=decode.from_value(node, Node)))
        self.loop.tell(self._change(listed=True))
        self._listed.set()

    async def _follow_services(self) -> None:
        feed = Feed(self.tools.cluster, self._clock, _SERVICES)
        async for batch in feed.batches():
            for each in batch:
                if isinstance(each, Seen) and (found := _service(each.raw)) is not None:
                    self._services[found.namespace, found.name] = found
                elif isinstance(each, Vanished):
                    self._services.pop((each.namespace, each.name), None)
            self.loop.tell(replaced(services=tuple(self._services.values())))

    async def _look(self, uid: str) -> None:
        """Look closely at a pod in which something happened."""
        record = self.loop.world.pods.get(uid)
        if record is not None:
            await looking.show(self.tools, record, self.loop.world)

    async def _tidy(self) -> None:
        """Every little while: weigh the tiers, end what nobody knows, follow the Node's labels and the machine."""
        await self._listed.wait()
        while True:
            try:
                await self._weigh()
                await self._adopt()
                await self._hold()
            except (HostError, RuntimeFault) as error:
                self.selfview.tell(enforcement=str(error))
            self._follow_node()
            await self._clock.sleep(_TIDY_S)

    async def _weigh(self) -> None:
        world = self.loop.world
        pods = [
            sandbox.as_allocated(record, world.setup)
            for record in active(world).values()
            if record.admission == ADMITTED
        ]
        await self._tree.pods(pods)

    async def _adopt(self) -> None:
        """Pods that the runtime has and no source knows get a record that ends them."""
        unknown = [uid for uid in self.watching.known if uid not in self.loop.world.pods]
        found = [await self.tools.runtime.inspect(uid) for uid in unknown]
        now = self._clock.now()
        records = {each.uid: orphans.record_of(each, now) for each in found if each.sandboxes or each.containers}
        if records:
            self.loop.tell(
                lambda world: world.with_pods({k: v for k, v in records.items() if k not in world.pods})
            )

    def _follow_node(self) -> None:
        node = self.decider.published
        if node is not None:
            self.loop.tell(_with_node(decode.from_value(node, Node)))

    def _forget(self, uid: str) -> None:
        record = self.loop.world.pods.get(uid)
        if record is not None:
            self.tools.ledger.forget(record.pod_uid)
        self.tools.objects.forget(uid)


def _with_node(node: Node) -> Change:
    """Only labels and taints matter; a heartbeat wakes nobody."""

    def change(world: World) -> World:
        known = world.node
        if (known.metadata.labels, known.spec) == (node.metadata.labels, node.spec):
            return world
        return msgspec.structs.replace(world, node=node)

    return change


def _host(machine: Machine, left: ResourceList) -> Host:
    memory = left.get("memory")
    return Host(
        memory=machine.memory,
        swap=machine.swap,
        allocatable_memory=machine.memory if memory is None else Bytes(memory.value),
        swap_controller=machine.cgroups.swap,
        hugepage_sizes=_sizes(machine.hugepages),
    )


def _sizes(pages: Iterable[int]) -> tuple[Bytes, ...]:
    return tuple(Bytes(size) for size in sorted(pages))


def _condition_text(reason: str, message: str) -> str:
    return f"container runtime network not ready: NetworkReady=false reason:{reason} message:{message}"


def _service(raw: bytes) -> Service | None:
    """A service with an address; others have no variables."""
    found = msgspec.json.decode(raw)
    meta, spec = found["metadata"], found.get("spec") or {}
    if spec.get("clusterIP", "None") in {"", "None"}:
        return None
    return Service(
        namespace=meta["namespace"],
        name=meta["name"],
        cluster_ip=spec["clusterIP"],
        ports=tuple(
            ServicePort(port=each["port"], name=each.get("name", ""), protocol=each.get("protocol", "TCP"))
            for each in spec.get("ports") or ()
        ),
    )
