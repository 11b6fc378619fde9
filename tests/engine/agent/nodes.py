"""A real agent on a simulated machine, for tests of what it does besides its pods."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from flexlet.adapters.meters import Ledger as Meters
from flexlet.adapters.podfiles import PodDirectories
from flexlet.adapters.sim.hostfiles import DiskFiles
from flexlet.adapters.sim.machine import Machine
from flexlet.adapters.sim.runtime import SimNode
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.cgroups.settings import DEFAULTS
from flexlet.core.node.addresses import addresses
from flexlet.core.node.settings import NodeSettings
from flexlet.engine.agent.agent import Agent
from flexlet.engine.agent.choices import Choices
from flexlet.engine.agent.detecting import Detecting
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.agent.ledger import Ledger
from flexlet.engine.agent.selfview import SelfView
from flexlet.engine.agent.tree import PodTree
from flexlet.ports.cluster import PODS
from flexlet.testing.cluster import SimCluster, serving
from flexlet.testing.host import GIB, SimHost
from flexlet.testing.memory import MemoryCheckpoints, MemoryJournal, SimProber
from flexlet.testing.simtime import SimClock, idle, run

NODE = "node-a"
__all__ = ["NODE", "Node", "idle", "node", "plain", "run"]


class Node:
    """A machine, an API server, and agents on it, one after the other."""

    def __init__(self, cluster: SimCluster, directory: Path, tasks: asyncio.TaskGroup) -> None:
        self.cluster = cluster
        self.clock = cluster.clock
        self.directory = directory
        machine = Machine(memory_total=2 * GIB, cpus="0-1")
        self.host = SimHost("0-1", 2 * GIB)
        self.host.machine = machine
        self.sim = SimNode(self.clock, machine=machine, files=DiskFiles())
        self.checkpoints = MemoryCheckpoints()
        self.journal = MemoryJournal()
        self.agent: Agent
        self._tasks = tasks
        self._task: asyncio.Task[None] | None = None

    def make(self, *, cluster: Any = None, runtime: Any = None, driver: str = "cgroupfs", **more: Any) -> Agent:
        """An agent that does not run yet."""
        root = self.directory / "kubelet"
        tools = Tools(
            runtime=runtime or self.sim.runtime,
            cgroups=self.sim.cgroups,
            files=PodDirectories(root, self.directory / "links", self.clock, mounts=False),
            prober=SimProber(),
            cluster=cluster or self.cluster.as_node(NODE),
            clock=self.clock,
            ledger=Ledger(self.checkpoints),
            host=self.host,
            scores=self.sim.oom_scores,
        )
        found = addresses(NODE, node_ips=("192.0.2.1",), routed=())
        view = SelfView(tools.runtime, self.clock, found)
        choices = Choices(**more)
        detecting = Detecting(self.host, self.host, self.host, self.host, self.clock, choices.resize, str(root))
        self.agent = Agent(
            NodeSettings(name=NODE),
            NodeSetup(name=NODE, root=str(root), pod_logs=str(self.directory / "logs"), driver=driver),
            tools,
            view,
            detecting,
            PodTree(self.sim.cgroups, driver, DEFAULTS),
            self.journal,
            Meters(),
            choices,
        )
        return self.agent

    async def begin(self, **more: Any) -> Agent:
        """An agent that runs."""
        agent = self.make(**more)
        await self.resume(agent)
        return agent

    async def resume(self, agent: Agent) -> None:
        """Let an agent run that was made before."""
        await agent.start()
        self._task = self._tasks.create_task(agent.run())
        await idle()

    async def end(self) -> None:
        """The agent goes; its pods stay."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    async def pod(self, name: str, **spec: Any) -> str:
        """Make a pod on this node; its uid."""
        body = plain(name, **spec)
        body["spec"]["nodeName"] = NODE
        made = await self.cluster.create(PODS, body)
        return str(made["metadata"]["uid"])

    async def passes(self, seconds: float) -> None:
        """Let time pass."""
        await self.clock.sleep(seconds)
        await idle()

    async def phase(self, name: str) -> str:
        """What the API says of a pod."""
        return str((await self.cluster.pod(name))["status"]["phase"])


def plain(name: str, **spec: Any) -> dict[str, Any]:
    """A pod that sleeps."""
    sleeper = {"name": "app", "image": "busybox:1", "command": ["sleep", "1000000"]}
    given = {"containers": [sleeper], "terminationGracePeriodSeconds": 1, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": given}


@contextlib.asynccontextmanager
async def node(directory: Path) -> AsyncIterator[Node]:
    """A node without an agent."""
    async with serving(SimClock()) as cluster, asyncio.TaskGroup() as tasks:
        made = Node(cluster, directory, tasks)
        yield made
        await made.end()
