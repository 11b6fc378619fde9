"""One simulated node with its agent, and pods on it in plain words."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.engine.agent.invariants import Watch

from flexlet.api.status import NotFound
from flexlet.engine.agent.ledger import ACTUATED, ALLOCATED
from flexlet.ports.cluster import PODS
from flexlet.testing import NodeOptions, SimClock, SimCluster, SimulatedNode, idle
from flexlet.testing.cluster import serving

Json = dict[str, Any]

FOREVER: Final = ["sh", "-c", "trap 'exit 0' TERM; sleep 100000 & wait"]
_TIMES: Final = frozenset({"lastProbeTime", "lastTransitionTime", "startedAt", "finishedAt", "startTime"})
_CHANCE: Final = frozenset({"containerID", "podIP", "podIPs"})


class World:
    """A cluster of one node; pods are bound to it when they are posted."""

    def __init__(self, cluster: SimCluster, node: SimulatedNode) -> None:
        self.cluster = cluster
        self.node = node
        self.pod_writes = 0
        """How often any pod was written in the API."""
        cluster.store.subscribe("pods", self._count)

    def _count(self, _: object) -> None:
        self.pod_writes += 1

    def let_through(self, plugin: str) -> None:
        """Do without an admission plugin, as other servers do."""
        backend = self.cluster.rest.backend
        backend.plugins = tuple(each for each in backend.plugins if each.name != plugin)

    async def create(self, name: str, containers: Json, metadata: Json | None = None, **spec: Any) -> str:
        """Post a pod; containers by name, each its resources or more. Its uid."""
        body = pod(name, containers, **spec)
        body["metadata"] |= metadata or {}
        body["spec"]["nodeName"] = self.node.options.name
        found = await self.cluster.create(PODS, body)
        return str(found["metadata"]["uid"])

    async def get(self, name: str) -> Json | None:
        """The pod as the API has it."""
        try:
            return await self.cluster.pod(name)
        except NotFound:
            return None

    async def until(self, name: str, predicate: Callable[[Json | None], bool], within_s: float = 120.0) -> Json:
        """Wait until the pod is as it should be, and nothing more happens at that moment."""
        loop = asyncio.get_running_loop()
        end = loop.time() + within_s
        await idle()
        while not predicate(found := await self.get(name)):
            assert loop.time() < end, f"{name} is not {predicate.__name__} after {within_s} s: {found}"
            await asyncio.sleep(0.25)
            await idle()
        return found or {}

    def picture(self, uid: str, status: Json) -> Json:
        """All that is left of what happened to a pod, without times and ids."""
        containerd = self.node.sim.containerd
        return {
            "status": timeless(status),
            "cgroups": self.node.pod_cgroups(uid),
            "scores": self.node.oom_scores(uid),
            "containers": sorted(
                (each.config.name, each.config.attempt, each.state)
                for each in containerd.containers.values()
                if each.sandbox.config.uid == uid
            ),
            "sandboxes": [each.state for each in containerd.sandboxes.values() if each.config.uid == uid],
            "books": {book: self.entry(book, uid) for book in (ALLOCATED, ACTUATED)},
        }

    def entry(self, book: str, uid: str) -> Any:
        """What a checkpoint says of a pod."""
        raw = self.node.checkpoints.files.get(book)
        data = {} if raw is None else msgspec.json.decode(msgspec.json.decode(raw)["data"])
        return data.get("entries", {}).get(uid)


@contextlib.asynccontextmanager
async def world(directory: Path, options: NodeOptions | None = None) -> AsyncIterator[World]:
    """A running node, whose invariants hold all the time."""
    async with serving(SimClock()) as cluster:
        node = SimulatedNode(cluster, directory, options or NodeOptions())
        watch = Watch(node)
        async with node.running():
            await asyncio.sleep(1)
            yield World(cluster, node)
    assert watch.broken == [], watch.broken


def pod(name: str, containers: Json, **spec: Any) -> Json:
    """A pod whose containers run for ever unless they say otherwise."""
    return {
        "metadata": {"name": name},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 5,
            "containers": [
                {"name": each, "image": "busybox:1", "command": FOREVER, **_container(more)}
                for each, more in containers.items()
            ],
            **spec,
        },
    }


def _container(given: Json) -> Json:
    """Resources alone stand for a container that has nothing else."""
    return {"resources": given} if given.keys() <= {"requests", "limits"} else given


def amounts(requests: str = "", limits: str = "") -> Json:
    """``cpu,memory`` twice; what is empty is left out."""
    return {name: _list(text) for name, text in (("requests", requests), ("limits", limits)) if text}


def _list(text: str) -> Json:
    pairs = zip(("cpu", "memory"), text.split(","), strict=False)
    return {name: amount for name, amount in pairs if amount}


def timeless(value: Any) -> Any:
    """A status without what differs from run to run."""
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in _TIMES | _CHANCE}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def condition(found: Json, kind: str) -> Json:
    """A condition of a pod; empty if it has none."""
    return next((each for each in found["status"].get("conditions", ()) if each["type"] == kind), {})


def is_ready(found: Json | None) -> bool:
    """Whether the pod runs and is ready."""
    return found is not None and condition(found, "Ready").get("status") == "True"


def is_resized(found: Json | None) -> bool:
    """Whether the pod is ready, and what was asked last has been seen and done."""
    if found is None or not is_ready(found):
        return False
    current = found["status"].get("observedGeneration") == found["metadata"]["generation"]
    return current and not condition(found, "PodResizePending") and not condition(found, "PodResizeInProgress")


def is_gone(found: Json | None) -> bool:
    """Whether the API has let it go."""
    return found is None
