"""The stories of ``tests/scenarios/resize`` on a whole node: the same words, said to a real agent.

There a story is played by the pure functions, here by the agent on a simulated machine, with the embedded API
server in front. What happens in one step there takes a few seconds here; what is seen afterwards must be the same.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from tests.engine.agent.world import World, condition
from tests.pods import amounts as quantities

from flexlet.adapters.sim import refusals
from flexlet.adapters.sim.records import ContainerRecord
from flexlet.api.status import NotFound
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.engine.agent.ledger import ALLOCATED
from flexlet.ports.cluster import Ref
from flexlet.testing import NodeOptions, idle
from flexlet.testing.host import GIB

Json = dict[str, Any]

DEAF: Final = ["sh", "-c", "trap '' TERM; while :; do sleep 5; done"]
_CLASSES: Final = Ref("scheduling.k8s.io", "v1", "priorityclasses")
_SYSTEM: Final = {2_000_001_000: "system-node-critical", 2_000_000_000: "system-cluster-critical"}
_SOON_S: Final = 4.0
"""Enough for what happens at once and for the first retry of what failed."""
_RETRIED_S: Final = 20.0
_TOLD: Final = ("Resize", "Preempting")


def options(given: Json) -> NodeOptions:
    """The node of a story."""
    cpus, memory = given.get("allocatable", "4,4Gi").split(",")
    config: Json = {
        "evictionHard": {"memory.available": "0%", "nodefs.available": "0%"},
        "featureGates": given.get("gates", {}),
    }
    if "swap" in given:
        config |= {"memorySwap": {"swapBehavior": given["swap"]}, "failSwapOn": False}
    config |= _managed(given)
    return NodeOptions(
        cpus=_cpus(cpus),
        memory=_memory(memory),
        config=config,
        resize=ResizeSettings(plug=True, unplug=True, cpu="Tolerate"),
    )


def _managed(given: Json) -> Json:
    """Managers need something reserved; the node is that much larger."""
    if "cpuManagerPolicy" in given:
        return {"cpuManagerPolicy": given["cpuManagerPolicy"], "kubeReserved": {"cpu": "1"}}
    if "memoryManagerPolicy" in given:
        reserved = [{"numaNode": 0, "limits": {"memory": "1Gi"}}]
        policy = given["memoryManagerPolicy"]
        return {
            "memoryManagerPolicy": policy,
            "reservedMemory": reserved,
            "kubeReserved": {"memory": "1Gi"},
        }
    return {}


def _cpus(count: str) -> str:
    return f"0-{int(count) - 1}" if count != "1" else "0"


def _memory(text: str) -> int:
    return int(text.removesuffix("Gi")) * GIB


def manifest(given: Json, *, ends: bool, lingers: bool) -> Json:
    """The pod of a story; `ends` is whether it comes to an end by itself, `lingers` whether it takes its time."""
    restarts = given.get("restart", {})
    command = {"command": DEAF} if ends or lingers else {}
    spec: Json = {"restartPolicy": "Never" if ends else "Always"}
    if command:
        spec["terminationGracePeriodSeconds"] = 600
    if "level" in given:
        spec["resources"] = written(given["level"])
    if "overhead" in given:
        spec["overhead"] = _texts(given["overhead"])
    inits = [
        {"name": name, "image": "busybox:1", "command": ["true"], "resources": written(text)}
        for name, text in given.get("init", {}).items()
    ]
    sidecars = [
        {
            "name": name,
            "image": "busybox:1",
            "command": DEAF,
            "restartPolicy": "Always",
            "resources": written(text),
        }
        for name, text in given.get("sidecars", {}).items()
    ]
    containers = {
        name: {"resources": written(text), "resizePolicy": _policy(restarts.get(name, ())), **command}
        for name, text in given["containers"].items()
    }
    return {"containers": containers, "initContainers": [*inits, *sidecars], **spec}


def written(text: str) -> Json:
    """``requests / limits`` as the API has it."""
    requests, _, limits = text.partition("/")
    both = {"requests": _texts(requests), "limits": _texts(limits)}
    return {name: found for name, found in both.items() if found}


def _texts(text: str) -> Json:
    return {name: str(amount) for name, amount in quantities(text.strip()).items()}


def _policy(resources: list[str]) -> list[Json]:
    return [{"resourceName": each, "restartPolicy": "RestartContainer"} for each in resources]


class Stage:
    """A story under way."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.uids: dict[str, str] = {}
        self.failing: dict[str, str] = {}
        self._seen: set[str] = set()
        self._update = world.node.sim.runtime.update_container
        world.node.sim.runtime.update_container = self._update_container  # type: ignore[method-assign]

    async def add(self, name: str, given: Json, *, ends: bool, lingers: bool) -> None:
        """A pod that runs before the story begins."""
        body = manifest(given, ends=ends, lingers=lingers)
        meta = {"labels": given.get("labels", {})}
        if "priority" in given:
            body["priorityClassName"] = await self._class(given["priority"])
        self.uids[name] = await self.world.create(name, metadata=meta, **body)
        await self.world.until(name, _runs)

    async def _class(self, priority: int) -> str:
        if priority in _SYSTEM:
            return _SYSTEM[priority]
        name = f"class-{priority}"
        body = {"metadata": {"name": name}, "value": priority}
        await self.world.cluster.cluster.create(_CLASSES, "", body)
        return name

    async def act(self, what: Json) -> None:
        """Everything that a step lets happen, then as long as it takes."""
        await self.events()
        patient = not {"usage", "failing", "sync", "containers may start"}.isdisjoint(what)
        for name, details in what.items():
            await _DEEDS[name](self, details)
        await asyncio.sleep(_RETRIED_S if patient else _SOON_S)
        await idle()

    # What can happen

    async def resize(self, wishes: Json) -> None:
        await asyncio.gather(*(self.world.cluster.resize(name, _patch(wish)) for name, wish in wishes.items()))

    async def end(self, names: list[str]) -> None:
        for name in names:
            for each in self.containers(name).values():
                self.kernel.end(self.kernel.machine.processes[each.pid], 0)

    async def remove(self, names: list[str]) -> None:
        for name in names:
            try:
                await self.world.cluster.delete(name, grace_s=0)
            except NotFound:
                continue

    async def delete(self, names: list[str]) -> None:
        for name in names:
            await self.world.cluster.delete(name)

    async def size(self, allocatable: str) -> None:
        cpus, memory = allocatable.split(",")
        self.world.node.host.cpus, self.world.node.host.memory = _cpus(cpus), _memory(memory)

    async def press(self, conditions: list[str]) -> None:
        assert self.world.node.agent is not None
        self.world.node.agent.selfview.tell(pressures=frozenset(conditions))

    async def use(self, amounts: Json) -> None:
        """As files in memory, which stay when their container goes."""
        for name, numbers in amounts.items():
            cgroups = self.kernel.machine.cgroups
            running = self.containers(name)
            used = {each: size for each, size in numbers.items() if each in running}
            for each, size in used.items():
                cgroups[running[each].cgroup].shmem = size
            path = self.world.node.pod_path(self.uids[name])
            cgroups[path].shmem = numbers.get("pod", sum(used.values())) - sum(used.values())

    async def fail(self, subjects: dict[str, str]) -> None:
        self.failing = subjects

    async def crash(self, containers: dict[str, str]) -> None:
        for name, container in containers.items():
            for _ in range(2):
                await self.world.until(name, _runs)
                self.kernel.end(self.kernel.machine.processes[self.containers(name)[container].pid], 1)
            await self.world.until(name, lambda pod: pod is not None and not _runs(pod))

    async def restart(self, _: Any) -> None:
        await self.world.node.restart()

    async def wait(self, seconds: Any) -> None:
        await asyncio.sleep(seconds if isinstance(seconds, int) else 0)

    # What can be seen

    async def seen(self, key: str, expected: Any) -> Any:
        """What the node shows of the things that a story names."""
        match key:
            case "events":
                return [f"{pod} {reason}" for pod, reason, _ in await self.events()]
            case "texts":
                return [message for _, _, message in await self.events()]
            case "conditions":
                return {name: [_words(each) for each in await self._conditions(name)] for name in expected}
            case "messages":
                return {name: [each["message"] for each in await self._conditions(name)] for name in expected}
            case "allocated":
                return {name: self._allocated(name, expected[name]) for name in expected}
            case "status":
                return {name: await self._status(name, expected[name]) for name in expected}
            case "waiting":
                return [self._name(uid) for uid in self._mind.waiting.queue]
            case "leaving":
                return sorted(self._name(uid) for uid, each in self._mind.pods.items() if each.ending is not None)
            case _:
                raise AssertionError(f"unknown expectation {key!r}")

    async def events(self) -> list[tuple[str, str, str]]:
        """Pod, reason and message of what was told of resizes since the last time somebody asked."""
        found = []
        for each in await self.world.cluster.events():
            name = each["metadata"]["name"]
            if name not in self._seen and each["reason"].startswith(_TOLD):
                found.append((name, (each["involvedObject"]["name"], each["reason"], each["message"])))
        return [event for name, event in found]

    async def forget_events(self) -> None:
        """What was told so far is known."""
        self._seen |= {each["metadata"]["name"] for each in await self.world.cluster.events()}

    async def _conditions(self, name: str) -> list[Json]:
        pod = await self.world.get(name)
        kinds = ("PodResizePending", "PodResizeInProgress")
        return [] if pod is None else [found for kind in kinds if (found := condition(pod, kind))]

    def _allocated(self, name: str, expected: Json) -> Json:
        entry = self.world.entry(ALLOCATED, self.uids[name])
        level = entry["PodLevelResources"] or {}
        return {part: words(level if part == "level" else entry["ContainerResources"][part]) for part in expected}

    async def _status(self, name: str, expected: Json) -> Json:
        pod = await self.world.cluster.pod(name)
        status = pod["status"]
        own = {"resources": status["resources"], "allocatedResources": {"requests": status["allocatedResources"]}}
        lists = (*status.get("initContainerStatuses", ()), *status["containerStatuses"])
        parts = own | {each["name"]: each["resources"] for each in lists}
        return {part: words(parts[part]) for part in expected}

    @property
    def kernel(self) -> Any:
        """The machine's."""
        return self.world.node.sim.kernel

    def containers(self, name: str) -> dict[str, ContainerRecord]:
        """The running ones of a pod."""
        return self.world.node.containers(self.uids[name])

    @property
    def _mind(self) -> Any:
        assert self.world.node.agent is not None
        return self.world.node.agent.loop.world

    def _name(self, uid: str) -> str:
        return next(name for name, each in self.uids.items() if each == uid)

    async def _update_container(self, container_id: str, resources: RuntimeResources) -> None:
        """The runtime's own, unless the story wants it to fail."""
        container = self.world.node.sim.containerd.containers[container_id]
        subject = _subject(container, resources)
        if subject in self.failing:
            raise refusals.fault(self.failing[subject])
        await self._update(container_id, resources)


def _subject(container: ContainerRecord, wanted: RuntimeResources) -> str:
    known = container.resources
    memory = wanted.memory_limit not in (0, known.memory_limit)
    cpu = (wanted.cpu_shares, wanted.cpu_quota) not in ((0, 0), (known.cpu_shares, known.cpu_quota))
    moved = [name for name, moves in (("memory", memory), ("cpu", cpu)) if moves]
    return f"{' and '.join(moved)} of {container.config.name}"


def _patch(wish: dict[str, str]) -> Json:
    """Containers by name, ``level`` for the pod; init containers are named ``i`` and ``s``."""
    spec: Json = {}
    for name, text in wish.items():
        if name == "level":
            spec["resources"] = written(text)
            continue
        kind = "initContainers" if name in {"i", "s"} else "containers"
        spec.setdefault(kind, []).append({"name": name, "resources": written(text)})
    return {"spec": spec}


def words(resources: Json) -> str:
    """The notation of the stories."""
    both = [
        ",".join(side.get(name, "") for name in ("cpu", "memory")) if side else ""
        for side in (resources.get("requests"), resources.get("limits"))
    ]
    return " / ".join(both).strip() if both[1] else both[0]


def _words(found: Json) -> str:
    kind, reason = found["type"].removeprefix("PodResize"), found.get("reason", "")
    return f"{kind}{'/' if reason else ''}{reason} @{found['observedGeneration']}"


def _runs(pod: Json | None) -> bool:
    statuses = [] if pod is None else pod["status"].get("containerStatuses", [])
    return bool(statuses) and all("running" in each["state"] for each in statuses)


_DEEDS: Final[dict[str, Callable[[Stage, Any], Any]]] = {
    "resize": Stage.resize,
    "resize without looking": Stage.resize,
    "pods end": Stage.end,
    "pods are removed": Stage.remove,
    "pods are deleted": Stage.delete,
    "allocatable": Stage.size,
    "pressure": Stage.press,
    "usage": Stage.use,
    "failing": Stage.fail,
    "containers stop": Stage.crash,
    "containers may start": Stage.wait,
    "the agent restarts": Stage.restart,
    "time passes": Stage.wait,
    "sync": Stage.wait,
}
