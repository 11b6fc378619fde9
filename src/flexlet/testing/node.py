"""A node: a simulated machine below, the real agent on top, and the world that outlives the agent.

The machine, its containers, its files and its checkpoints belong to the node; an agent is started on it, killed
without a word, and followed by another. Pods reach it as they reach any node: through the API.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import msgspec

from flexlet.adapters.meters import Ledger as Meters
from flexlet.adapters.podfiles import PodDirectories
from flexlet.adapters.sim.hostfiles import DiskFiles
from flexlet.adapters.sim.machine import Machine
from flexlet.adapters.sim.records import ContainerRecord
from flexlet.adapters.sim.runtime import SimNode
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.gates import Gates
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.kubeletconfig import uses
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.core.kubeletconfig.reading import merge
from flexlet.core.machine.sharing import WHOLE, Share
from flexlet.core.node.addresses import addresses
from flexlet.core.node.settings import NodeSettings, declared_features
from flexlet.core.runtime.shown import RUNNING
from flexlet.engine.agent.agent import Agent
from flexlet.engine.agent.choices import Choices
from flexlet.engine.agent.chores import Sweeping
from flexlet.engine.agent.detecting import Detecting
from flexlet.engine.agent.hands.tools import Tools
from flexlet.engine.agent.ledger import Ledger
from flexlet.engine.agent.selfview import SelfView
from flexlet.engine.agent.staticpods import StaticSource
from flexlet.engine.agent.tree import PodTree
from flexlet.errors import HostError, RuntimeFault
from flexlet.ports.hostledger import HostLedger
from flexlet.testing.cluster import SimCluster
from flexlet.testing.host import GIB, SimHost
from flexlet.testing.lifeline import Lifeline
from flexlet.testing.manifests import PostedRules, SimManifests
from flexlet.testing.memory import MemoryCheckpoints, MemoryJournal, SimProber
from flexlet.testing.reach import Reach

ADDRESS: Final = "192.0.2.1"
_RESPAWN_S: Final = 1.0


class NodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What kind of node."""

    name: str = "node-a"
    cpus: str = "0-1"
    memory: int = 2 * GIB
    numa: tuple[str, ...] = ()
    """The CPUs of each NUMA node; memory is spread evenly. Empty: one node."""
    cores: int | None = None
    """With so many cores CPU n is a thread of core n modulo that."""
    labels: dict[str, str] = {}
    config: dict[str, Any] = {}
    """Fields of the KubeletConfiguration, on top of its defaults."""
    hardware: SimHost | None = None
    """The machine, if CPUs and memory do not say enough of it."""
    share: Share = WHOLE
    host_ledger: HostLedger | None = None
    """What the node shares with others that have the same machine."""
    resize: ResizeSettings | None = None
    """How the node follows its machine; None: as the gates say."""


class SimulatedNode:
    """One node of a simulated cluster."""

    def __init__(self, cluster: SimCluster, directory: Path, options: NodeOptions) -> None:
        self.cluster = cluster
        self.options = options
        self.host = options.hardware or SimHost(
            options.cpus, options.memory, numa=options.numa, cores=options.cores
        )
        machine = Machine()
        self.host.machine = machine
        self.host.follow()
        self.sim = SimNode(cluster.clock, machine=machine, files=DiskFiles())
        self.checkpoints = MemoryCheckpoints()
        self.prober = SimProber()
        self.manifests = SimManifests()
        self.journal = MemoryJournal()
        self.meters = Meters()
        self.line = Lifeline()
        self.reach = Reach(cluster.as_node(options.name))
        self.agent: Agent | None = None
        self._directory = directory
        self._tasks: asyncio.TaskGroup | None = None
        self._task: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["SimulatedNode"]:
        """With an agent on it; whatever breaks the agent breaks the story."""
        async with asyncio.TaskGroup() as self._tasks:
            await self.start()
            yield self
            await self.kill()

    async def start(self, line: Lifeline | None = None, **config: Any) -> None:
        """Start an agent, maybe with another configuration than the one before it."""
        assert self._tasks is not None, "a node runs inside `running`"  # noqa: S101
        self.line = line or Lifeline()
        merged = merge(KubeletConfiguration(), {**self.options.config, **config})
        self._task = self._tasks.create_task(self._live(merged, self.line))

    async def _live(self, config: KubeletConfiguration, line: Lifeline) -> None:
        """An agent's life; one that finds the host unwilling is started again, one that was cut off is silent."""
        try:
            while True:
                self.agent = self._agent(config)
                try:
                    await self.agent.start()
                except (HostError, RuntimeFault):
                    await self.cluster.clock.sleep(_RESPAWN_S)
                else:
                    break
            await self.agent.run()
        except BaseException:
            if not line.is_cut:
                raise

    async def kill(self) -> None:
        """End the agent between two of its breaths; nothing else notices."""
        self.line.cut()
        self.line.is_over = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def restart(self, **config: Any) -> None:
        """Kill the agent and start another."""
        await self.kill()
        await self.start(**config)

    def containers(self, uid: str) -> dict[str, ContainerRecord]:
        """The newest run of each container of a pod that runs."""
        return {
            each.config.name: each
            for each in self.sim.containerd.containers.values()
            if each.sandbox.config.uid == uid and each.state == RUNNING
        }

    def cgroup(self, path: str) -> dict[str, str]:
        """The files of a cgroup that can be written, and its CPUs; empty if it is not there."""
        kernel = self.sim.kernel
        kernel.settle()
        if path not in kernel.machine.cgroups:
            return {}
        effective = kernel.read(path, "cpuset.cpus.effective") or ""
        return kernel.machine.cgroups[path].files | {"cpuset.cpus.effective": effective}

    def pod_cgroups(self, uid: str) -> dict[str, dict[str, str]]:
        """The files of a pod's cgroups: ``.`` is its own, the rest by name, and ``sandbox``."""
        parent = self.pod_path(uid)
        if parent is None:
            return {}
        named = {each.cgroup: name for name, each in self.containers(uid).items()}
        sandboxes = {each.cgroup: "sandbox" for each in self.sim.containerd.sandboxes.values()}
        below = (each for each in self.sim.kernel.machine.below(parent) if each != parent)
        return {".": self.cgroup(parent)} | {
            (named | sandboxes).get(each, each): self.cgroup(each) for each in below
        }

    def pod_path(self, uid: str) -> str | None:
        """Where a pod's cgroup lies; None if there is none."""
        self.sim.kernel.settle()
        found = (each for each in self.sim.kernel.machine.cgroups if each.endswith(f"/pod{uid}"))
        return next(found, None)

    def oom_scores(self, uid: str) -> dict[str, int]:
        """The score of each running container's first process, and of the sandbox."""
        processes = self.sim.kernel.machine.processes
        pids = {name: each.pid for name, each in self.containers(uid).items()}
        for each in self.sim.containerd.sandboxes.values():
            if each.config.uid == uid:
                pids["sandbox"] = each.pid
        return {name: processes[pid].oom_score_adj for name, pid in pids.items() if pid in processes}

    def _agent(self, config: KubeletConfiguration) -> Agent:
        hold, clock = self.line.hold, self.cluster.clock
        root = self._directory / "kubelet"
        runtime, cgroups = hold("runtime", self.sim.runtime), hold("cgroups", self.sim.cgroups)
        gates = uses.gates(config)
        tools = Tools(
            runtime=runtime,
            cgroups=cgroups,
            files=hold("files", PodDirectories(root, self._directory / "links", clock, mounts=False)),
            prober=self.prober,
            cluster=hold("cluster", self.reach.port),
            clock=clock,
            ledger=Ledger(hold("checkpoints", self.checkpoints)),
            host=self.host,
            scores=self.sim.oom_scores,
        )
        found = addresses(self.options.name, node_ips=(ADDRESS,), routed=())
        view = SelfView(runtime, clock, found)
        resize, host = self.options.resize or uses.resize_settings(config), self.host
        parts, reserved = hold("parts", host), uses.reserved(config)
        detecting = Detecting(host, host, host, parts, clock, resize, str(root), reserved=reserved)
        tree = PodTree(cgroups, "cgroupfs", uses.cgroup_settings(config))
        agent = Agent(
            self._settings(config, gates),
            self._setup(config, gates, str(root)),
            tools,
            view,
            detecting,
            tree,
            self.journal,
            self.meters,
            self._choices(config, resize),
        )
        agent.take_on(
            Sweeping(agent.loop, tools, agent.watching, lambda: [each.uid for each in agent.static.pods])
        )
        return agent

    def _choices(self, config: KubeletConfiguration, resize: ResizeSettings) -> Choices:
        return Choices(
            resize=resize,
            enforce="pods" in config.enforce_node_allocatable,
            static=StaticSource(self.manifests, PostedRules()),
            host_ledger=self.options.host_ledger,
            share=self.options.share,
        )

    def _settings(self, config: KubeletConfiguration, gates: Gates) -> NodeSettings:
        return NodeSettings(
            name=self.options.name,
            labels=self.options.labels,
            max_pods=config.max_pods,
            pods_per_core=config.pods_per_core,
            taints=config.register_with_taints,
            reservation=msgspec.structs.replace(
                uses.reservation(config), share=WHOLE if self.options.host_ledger else self.options.share
            ),
            agent="simulated",
            declared_features=declared_features(gates),
        )

    def _setup(self, config: KubeletConfiguration, gates: Gates, root: str) -> NodeSetup:
        return NodeSetup(
            name=self.options.name,
            cgroups=uses.cgroup_settings(config),
            gates=gates,
            root=root,
            pod_logs=str(self._directory / "pods"),
            started_at=self.cluster.clock.now(),
            cluster_domain="cluster.local",
            cluster_dns=config.cluster_dns,
            resolv_conf="nameserver 192.0.2.53\n",
            hosts_file="127.0.0.1 localhost\n",
            max_pods=config.max_pods,
            managers=uses.manager_settings(config),
        )
