"""What can be seen of a node and its pods: over the API, in the kernel, in the state files, in the metrics.

Every look is told what the story expects, so that it shows just that: amounts are written as the story writes them
if they are the same, and what the story does not name is left out.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from tests.engine.agent.world import condition
from tests.scenarios.node_resize.stage import Stage

from flexlet.api.quantity import Quantity
from flexlet.api.status import NotFound
from flexlet.core.managers.files import CPU_FILE, MEMORY_FILE
from flexlet.core.node.registration import GENERATION_ANNOTATION, INITIAL_CAPACITY_ANNOTATION
from flexlet.engine.agent.resizing import counts
from flexlet.ports.cluster import NODES

Json = dict[str, Any]

_QUIET: Final = frozenset(
    {
        *("Starting", "NodeAllocatableEnforced", "NodeReady", "NodeHasSufficientMemory", "NodeHasNoDiskPressure"),
        *("NodeHasSufficientPID", "RegisteredNode", "Scheduled", "Pulling", "Pulled", "Created", "Started"),
        *("FailedScheduling", "Killing", "InvalidDiskCapacity", "SandboxChanged", "MissingClusterDNS"),
    }
)
"""What is told of every node and every pod."""
_FILES: Final = {"swap": "memory.swap.max", "cpus": "cpuset.cpus", "mems": "cpuset.mems", "high": "memory.high"}


def same(expected: Any, text: Any) -> Any:
    """An amount in the story's words if it is the same."""
    is_same = text is not None and Quantity.parse(str(expected)) == Quantity.parse(str(text))
    return expected if is_same else text


class Seeing:
    """Looks at one stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._there = stage.there
        self._node = stage.node
        self._told: set[str] = set()

    async def seen(self, key: str, expected: Any) -> Any:
        """What there is of the things that a story names."""
        return await _LOOKS[key](self, expected)

    async def node(self, expected: Json) -> Json:
        found = await self.api_node()
        return {name: self._of_node(name, wanted, found) for name, wanted in expected.items()}

    async def api_node(self) -> Json:
        """The Node as the API has it."""
        raw = await self._there.cluster.cluster.get(NODES, "", self._node.options.name)
        decoded: Json = msgspec.json.decode(raw)
        return decoded

    def _of_node(self, name: str, expected: Any, found: Json) -> Any:
        status, notes = found["status"], found["metadata"].get("annotations", {})
        resize = condition(found, "NodeResize")
        match name:
            case "condition":
                return f"{resize['status']}/{resize['reason']}" if resize else None
            case "message":
                return resize.get("message")
            case "ready":
                return condition(found, "Ready")["status"]
            case "swap":
                return same(expected, status["nodeInfo"].get("swap", {}).get("capacity"))
            case "taints":
                return [each["key"] for each in found["spec"].get("taints", ())]
            case "generation":
                return int(notes[GENERATION_ANNOTATION]) if GENERATION_ANNOTATION in notes else None
            case "initial":
                first = msgspec.json.decode(notes[INITIAL_CAPACITY_ANNOTATION])
                return {each: same(amount, first.get(each)) for each, amount in expected.items()}
            case _:
                return _both(expected, *(status[side].get(name) for side in ("capacity", "allocatable")))

    async def kubepods(self, expected: Json) -> Json:
        files = self._node.cgroup("kubepods")
        return {name: _as(expected[name], files.get(name)) for name in expected}

    async def pods(self, expected: Json) -> Json:
        return {name: await self._phase(name) for name in expected}

    async def _phase(self, name: str) -> str:
        found = await self._pod(name)
        if found is None:
            return "gone"
        status = found["status"]
        return f"{status['phase']} {status.get('reason', '')}".strip()

    async def _pod(self, name: str) -> Json | None:
        for each in (name, f"{name}-{self._node.options.name}"):
            try:
                return await self._there.cluster.pod(each)
            except NotFound:
                continue
        return None

    async def messages(self, expected: Json) -> Json:
        return {name: ((await self._pod(name)) or {})["status"].get("message") for name in expected}

    async def disrupted(self, expected: Json) -> Json:
        """Why a pod says that it was disrupted."""
        found = {name: condition(await self._pod(name) or {}, "DisruptionTarget") for name in expected}
        return {name: f"{each['status']}/{each['reason']}" if each else None for name, each in found.items()}

    async def resizes(self, expected: Json) -> Json:
        """Why the resizes of pods have to wait."""
        pods = {name: await self._pod(name) or {} for name in expected}
        found = {name: condition(each, "PodResizePending") for name, each in pods.items()}
        return {name: each.get("reason") for name, each in found.items()}

    async def containers(self, expected: Json) -> Json:
        return {name: self._container(self._stage.uids[name], wanted) for name, wanted in expected.items()}

    def _container(self, uid: str, expected: Json | None) -> Json | None:
        if not self._node.containers(uid):
            return None
        files = self._node.pod_cgroups(uid)["c"] | {"oom": str(self._node.oom_scores(uid)["c"])}
        return {each: _as(wanted, files[_FILES.get(each, each)]) for each, wanted in (expected or {}).items()}

    async def shared(self, _: Any) -> Any:
        return _state(self._node.checkpoints.files[CPU_FILE])["defaultCpuSet"]

    async def exclusive(self, _: Any) -> Json:
        """CPUs of their own, by pod."""
        entries = _state(self._node.checkpoints.files[CPU_FILE]).get("entries", {})
        names = {uid: name for name, uid in self._stage.uids.items()}
        return {names[uid]: each["c"] for uid, each in entries.items()}

    async def numa(self, expected: Json) -> Json:
        """The memory manager's tables, by NUMA node."""
        nodes = _state(self._node.checkpoints.files[MEMORY_FILE])["machineState"]
        tables = {int(node): each["memoryMap"]["memory"] for node, each in nodes.items()}
        return {node: {each: tables[int(node)][each] for each in wanted} for node, wanted in expected.items()}

    async def metrics(self, expected: Json) -> Json:
        """A metric by its name and the values of its labels; the sum of all if none is named."""
        found = self.counts()
        return {each: found.get(each, 0) for each in expected}

    def counts(self) -> dict[str, float]:
        """Everything that was counted."""
        assert self._node.agent is not None
        counts.show(self._node.meters, self._node.agent.detecting)
        found: dict[str, float] = {}
        for family in self._node.meters.families():
            for sample in family.samples:
                labels = " ".join(value for _, value in sample.labels)
                found[f"{family.name} {labels}".strip()] = sample.value
                found[family.name] = found.get(family.name, 0) + (sample.value if labels else 0)
        return {name: int(value) if value == int(value) else value for name, value in found.items()}

    async def looks(self, _: Any) -> int:
        """How often the machine was looked at since the step began."""
        return len(self._node.host.looks)

    async def events(self, _: Any) -> list[str]:
        return [f"{who} {reason}" for who, reason, _ in await self._news()]

    async def told(self, _: Any) -> list[str]:
        return [f"{who} {reason}: {message}" for who, reason, message in await self._news()]

    async def _news(self) -> list[tuple[str, str, str]]:
        """Who, why and what was told since the step began."""
        return [
            (each["involvedObject"]["name"], each["reason"], each["message"])
            for each in await self._there.cluster.events()
            if each["metadata"]["name"] not in self._told and each["reason"] not in _QUIET
        ]

    async def forget(self) -> None:
        """What was told and read so far is known."""
        self._node.host.looks.clear()
        self._told |= {each["metadata"]["name"] for each in await self._there.cluster.events()}

    def runs(self) -> dict[str, set[str]]:
        """The ids of the containers that run, by pod."""
        pods = self._stage.uids.items()
        found = {name: {each.id for each in self._node.containers(uid).values()} for name, uid in pods}
        return {name: ids for name, ids in found.items() if ids}


def _both(expected: str, capacity: Any, allocatable: Any) -> str:
    """Capacity and allocatable as ``8Gi / 7068Mi``."""
    wanted = expected.split(" / ")
    return " / ".join(str(same(*each)) for each in zip(wanted, (capacity, allocatable), strict=True))


def _as(expected: Any, text: Any) -> Any:
    return int(text) if isinstance(expected, int) and text is not None and text.lstrip("-").isdigit() else text


def _state(raw: bytes) -> Json:
    found: Json = msgspec.json.decode(raw)
    return found


_LOOKS: Final[dict[str, Callable[[Seeing, Any], Awaitable[Any]]]] = {
    "node": Seeing.node,
    "kubepods": Seeing.kubepods,
    "pods": Seeing.pods,
    "messages": Seeing.messages,
    "disrupted": Seeing.disrupted,
    "containers": Seeing.containers,
    "shared": Seeing.shared,
    "exclusive": Seeing.exclusive,
    "numa": Seeing.numa,
    "metrics": Seeing.metrics,
    "events": Seeing.events,
    "told": Seeing.told,
    "resizes": Seeing.resizes,
    "looks": Seeing.looks,
}
