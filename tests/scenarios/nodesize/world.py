"""A node of 15 CPUs and 60Gi on the embedded API server, in simulated time, with the controller that sizes it.

The node is a hollow one: it grants and defers resizes by the rules of a real node. It can be put to sleep, so that
requests meet on their way, and the controller can be killed at any moment.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from flexlet.api.quantity import Quantity
from flexlet.api.units import GIB, MIB
from flexlet.apiserver.housekeeping.crds import Definitions
from flexlet.core.hollow.fleet import Fleet
from flexlet.core.hollow.machine import HOLLOW_LABEL, MACHINE_ANNOTATION, Machine
from flexlet.core.nodesize import manifest, names, sights
from flexlet.core.nodesize.decider import NodeSizeDecider
from flexlet.core.nodesize.settings import ClusterFacts, Settings
from flexlet.core.refs import NODES, PODS
from flexlet.engine.executor import Executor
from flexlet.engine.feed import Feed
from flexlet.engine.loop import Decider, Loop
from flexlet.engine.recorder import Recorder
from flexlet.ports import cluster as ports
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Ref
from flexlet.testing.cluster import SimCluster, serving
from flexlet.testing.simtime import SimClock

Json = dict[str, Any]
Pair = tuple[float, float]

NODE: Final = "n1"
SIZES: Final = Ref(*names.NODE_SIZES)
_MARGIN: Final = 100 * MIB
"""What a hollow node keeps for eviction: its allocatable is that much smaller than its machine."""
_MANIFESTS: Final = Path(__file__).parents[3] / "src/flexlet/manifests"
_KINDS: Final = {
    "20-nodesize.yaml": Ref("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    "30-priority.yaml": Ref("scheduling.k8s.io", "v1", "priorityclasses"),
}


def machine(cpus: float, gib: float) -> Machine:
    """The machine of a node with this allocatable."""
    return Machine(cpus=int(cpus), memory=int(gib * GIB) + _MARGIN)


class World:
    """One server, some nodes, one controller at a time."""

    def __init__(self, sim: SimCluster, nodes: tuple[str, ...], of: Machine, settings: Settings) -> None:
        self.sim = sim
        self.nodes = nodes
        self.machine = of
        self.settings = settings
        self.cluster_facts = ClusterFacts()
        self.decider = NodeSizeDecider(settings)
        self.wake: Callable[[], None] = lambda: None
        self._node: asyncio.Task[None] | None = None
        self._controller: asyncio.Task[None] | None = None

    @property
    def now(self) -> float:
        return self.sim.clock.now()

    # ---- the node and the controller

    def wake_node(self) -> None:
        self._node = asyncio.create_task(self.loop(self._fleet(), (NODES, PODS)).run())

    async def sleep_node(self) -> None:
        await _ended(self._node)

    def start_controller(self) -> None:
        self.decider = NodeSizeDecider(self.settings, self.cluster_facts)
        loop = self.loop(self.decider, (names.NODE_SIZES, NODES, PODS))
        self.wake = loop.wake
        self._controller = asyncio.create_task(loop.run())

    async def kill_controller(self) -> None:
        await _ended(self._controller)

    async def end(self) -> None:
        await self.kill_controller()
        await self.sleep_node()

    def _fleet(self) -> Fleet:
        return Fleet(self.nodes, self.machine, "test")

    def loop(self, decider: Decider, follows: tuple[tuple[str, str, str], ...]) -> Loop:
        cluster, clock = self.sim.cluster, self.sim.clock
        feeds = [Feed(cluster, clock, Ref(*ref)) for ref in follows]
        return Loop(
            decider, feeds, Executor(cluster, Recorder(cluster, Ahead(clock, len(decider.name) * 1e-4))), clock
        )

    # ---- what users and others do

    async def apply(self, spec: Json, node: str = NODE, **metadata: Any) -> None:
        """Create the NodeSize, or replace its spec."""
        body = {
            "apiVersion": names.API_VERSION,
            "kind": names.KIND,
            "metadata": {"name": node, **metadata},
            "spec": spec,
        }
        known = await self.get(SIZES, node)
        if known is None:
            await self.sim.cluster.create(SIZES, "", body)
            return
        cleared = {key: None for key in known.get("spec", {}) if key not in spec}
        target = {"target": {"effective": None, "balloon": None, **(spec.get("target") or {})}}
        patch = {"spec": {**cleared, **spec, **(target if spec.get("target") else {})}}
        await self.sim.cluster.patch(SIZES, "", node, patch)

    async def add(self, name: str, cpu: float, gib: float, node: str = NODE, **spec: Any) -> None:
        """A workload, bound already."""
        requests = {"cpu": str(Quantity.of_milli(round(cpu * 1000))), "memory": _bytes(gib)}
        container = {"name": "c", "image": self.settings.image, "resources": {"requests": requests}}
        body: Json = {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}
        if node:
            body["spec"]["nodeName"] = node
        await self.sim.cluster.create(ports.PODS, "default", body)

    async def remove(self, name: str, namespace: str = "default") -> None:
        await self.sim.cluster.delete(ports.PODS, namespace, name, {"gracePeriodSeconds": 0})

    async def plug(self, cpus: float, gib: float, node: str = NODE) -> None:
        """Another allocatable, as if the machine had changed."""
        wish = {"cpu": str(int(cpus)), "memory": str(int(gib * GIB) + _MARGIN)}
        note = {"metadata": {"annotations": {MACHINE_ANNOTATION: msgspec.json.encode(wish).decode()}}}
        await self.sim.cluster.patch(ports.NODES, "", node, note)

    async def stock(self, version: str = "", node: str = NODE, **annotations: str) -> None:
        """Let a node pass for one with a kubelet; annotations are named by their last word."""
        notes = {f"flexlet.io/{key.replace('_', '-')}": text for key, text in annotations.items()}
        body = {"metadata": {"labels": {HOLLOW_LABEL: None}, "annotations": notes}}
        await self.sim.cluster.patch(ports.NODES, "", node, body)
        if version:
            info = {"status": {"nodeInfo": {"kubeletVersion": version}}}
            await self.sim.cluster.patch(ports.NODES, "", node, info, subresource="status")

    async def stray(self, cpu: float, gib: float, node: str = NODE, **parts: Any) -> None:
        """One more balloon, of unknown origin."""
        sight = sights.node(await self.sim.cluster.get(ports.NODES, "", node))
        amounts = {"cpu": round(cpu * 1000), "memory": int(gib * GIB)}
        shape, priority_class = parts.pop("shape", "G"), parts.pop("priority_class", names.CLASS)
        body = manifest.pod(sight, self.settings, shape, priority_class, amounts, amounts)
        body["metadata"]["name"] = parts.pop("name", "stray")
        await self.sim.cluster.create(ports.PODS, names.NAMESPACE, body)

    async def resize(self, cpu: float, gib: float, node: str = NODE) -> None:
        """Somebody resizes the balloon by hand."""
        requests = {"cpu": str(Quantity.of_milli(round(cpu * 1000))), "memory": _bytes(gib)}
        container = {"name": names.CONTAINER, "resources": {"requests": requests, "limits": requests}}
        await self.sim.resize(manifest.name_of(node), {"spec": {"containers": [container]}}, names.NAMESPACE)

    # ---- what is seen

    async def get(self, ref: Ref, name: str, namespace: str = "") -> Json | None:
        from flexlet.api.status import NotFound

        try:
            found: Json = msgspec.json.decode(await self.sim.cluster.get(ref, namespace, name))
        except NotFound:
            return None
        return found

    async def status(self, node: str = NODE) -> Json:
        found = await self.get(SIZES, node) or {}
        status: Json = found.get("status", {})
        return status

    async def condition(self, kind: str, node: str = NODE) -> Json:
        found = (await self.status(node)).get("conditions", [])
        return next((c for c in found if c["type"] == kind), {})

    async def pods(self) -> list[Json]:
        return [msgspec.json.decode(raw) for raw in (await self.sim.cluster.list(ports.PODS)).items]

    async def balloons(self, node: str = NODE) -> list[Json]:
        return [
            pod
            for pod in await self.pods()
            if pod["metadata"].get("labels", {}).get(names.LABEL) == "true" and pod["spec"].get("nodeName") == node
        ]

    async def taints(self, node: str = NODE) -> list[str]:
        found = await self.get(ports.NODES, node) or {}
        keys = [taint["key"] for taint in found["spec"].get("taints") or []]
        return [key for key in keys if key.startswith("flexlet.io/")]

    async def figures(self, node: str = NODE) -> dict[str, Pair]:
        """Balloon, effective size and headroom as the API shows them, in CPUs and Gi."""
        status = await self.status(node)
        found = {
            "balloon": status.get("balloon", {}).get("allocated", {}),
            "effective": status.get("effective", {}),
            "headroom": status.get("headroom", {}),
        }
        return {key: _pair(amounts) for key, amounts in found.items()}

    async def events(self) -> list[tuple[str, str]]:
        """Reasons and messages about NodeSizes."""
        found = await self.sim.events("default")
        return [(e["reason"], e["message"]) for e in found if e["involvedObject"]["kind"] == names.KIND]

    async def settle(self, seconds: float = 1.0) -> None:
        await self.sim.clock.sleep(seconds)


@asynccontextmanager
async def world(
    of: Machine | None = None, settings: Settings | None = None, nodes: tuple[str, ...] = (NODE,)
) -> AsyncIterator[World]:
    """A world with its nodes awake and no controller yet."""
    clock = SimClock()
    async with serving(clock) as sim:
        definitions = Definitions(sim.rest, sim.cluster, clock)
        await definitions.load()
        for file, ref in _KINDS.items():
            await sim.cluster.create(ref, "", yaml.safe_load((_MANIFESTS / file).read_text()))
        made = World(sim, nodes, of or machine(15, 60), settings or Settings())
        made.wake_node()
        await made.settle()
        try:
            yield made
        finally:
            await made.end()


class Ahead:
    """A clock a little ahead: events are named by their time, and in a simulation many happen at the same."""

    def __init__(self, clock: Clock, ahead_s: float) -> None:
        self._clock = clock
        self._ahead_s = ahead_s

    def now(self) -> float:
        return self._clock.now() + self._ahead_s

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)


async def _ended(task: asyncio.Task[None] | None) -> None:
    if task is not None and not task.done():
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    elif task is not None and not task.cancelled():
        task.result()


def _bytes(gib: float) -> str:
    return str(Quantity.of_bytes(int(gib * GIB)))


def _pair(amounts: Json) -> Pair:
    cpu, memory = Quantity.parse(amounts.get("cpu", "0")), Quantity.parse(amounts.get("memory", "0"))
    return cpu.milli / 1000, memory.value / GIB
