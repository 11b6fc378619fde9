"""Stories of a node whose machine grows and shrinks under running pods, told to a whole node.

The real agent, the embedded API server with its scheduler in front of it, a simulated machine below. A story says
what happens to the machine and to the cluster; what people and programs can see afterwards must be as it says.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

import yaml
from tests.engine.agent.world import World, pod, world
from tests.scenarios.agent_resize.stage import written
from tests.scenarios.node_resize.hardware import Hardware, size

from flexlet.api import status
from flexlet.api.cpuset import CpuSet
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.request import AdmissionRequest
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.ports.cluster import NODES, PODS, Ref
from flexlet.testing import NodeOptions, idle
from flexlet.testing.host import SimHost

Json = dict[str, Any]

BASE: Final[Json] = yaml.safe_load((Path(__file__).parent / "base.yaml").read_text(encoding="utf-8"))
_CLASSES: Final = Ref("scheduling.k8s.io", "v1", "priorityclasses")
CLUSTER_CRITICAL: Final = 2_000_000_000
_SOON_S: Final = 6.0
"""Enough to notice what the kernel tells, to follow it, and for pods to end."""


def options(given: Json) -> NodeOptions:
    """The node of a story: the base configuration, and what the story says besides."""
    hardware = SimHost(
        given.get("cpus", "0-3"),
        size(given.get("memory", "8Gi")),
        numa=given.get("numa", ()),
        swap=size(given.get("swap", "4Gi")),
        cores=given.get("cores"),
        auto_online=given.get("auto_online", "online"),
        udev=given.get("udev", ("cpu",)),
    )
    hardware.awake -= set(CpuSet.parse(str(given.get("offline", ""))))
    config = {**BASE, **given.get("config", {})}
    wishes = given.get("resize", {})
    # Unless a story says otherwise pods end at once, so that it need not wait.
    known = {"plug": True, "unplug": True, "evict": "immediate"} | (wishes if wishes != "gates" else {})
    following = None if wishes == "gates" else ResizeSettings(**known)
    return NodeOptions(hardware=hardware, config=config, resize=following)


def manifest(name: str, given: Any) -> Json:
    """A pod of one container ``c``; its amounts alone, or more about it."""
    known = given if isinstance(given, dict) else {"amounts": given}
    body = pod(name, {"c": {"resources": written(known["amounts"] or "")}})
    if "grace" in known:
        body["spec"]["terminationGracePeriodSeconds"] = known["grace"]
    if "command" in known:
        body["spec"]["containers"][0]["command"] = known["command"]
    return body


class Budget(Plugin):
    """Keeps nodes from becoming larger."""

    name = "Budget"

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """Refuse what changes a capacity."""
        del view
        if request.kind.plural == "nodes" and request.operation == "UPDATE" and request.obj and request.old:
            before, after = (each["status"].get("capacity") for each in (request.old, request.obj))
            if before != after:
                raise status.failure(403, "Forbidden", "the department has no money for larger nodes")


class Stage(Hardware):
    """A story under way."""

    def __init__(self, there: World) -> None:
        super().__init__(there.node)
        self.there = there
        self.uids: dict[str, str] = {}
        self._classes: set[int] = set()

    # Pods

    async def create(self, pods: Json) -> None:
        """Post pods, one after the other; the scheduler finds a place for them, or not."""
        for name, given in pods.items():
            if isinstance(given, dict) and given.get("static"):
                await self._static(name, given)
            else:
                await self._posted(name, given)
            await asyncio.sleep(1)
            await idle()

    async def _posted(self, name: str, given: Any) -> None:
        body = manifest(name, given)
        priority = given.get("priority", 0) if isinstance(given, dict) else 0
        if priority == CLUSTER_CRITICAL:
            body["spec"]["priorityClassName"] = "system-cluster-critical"
        elif priority:
            body["spec"]["priorityClassName"] = await self._class(priority)
        made = await self.there.cluster.create(PODS, body)
        self.uids[name] = made["metadata"]["uid"]

    async def _class(self, priority: int) -> str:
        name = f"class-{priority}"
        if priority not in self._classes:
            self._classes.add(priority)
            await self.there.cluster.cluster.create(_CLASSES, "", {"metadata": {"name": name}, "value": priority})
        return name

    async def _static(self, name: str, given: Json) -> None:
        body = manifest(name, given)
        body["spec"] |= {"priority": given["priority"], "priorityClassName": "system-node-critical"}
        self.node.manifests.write(f"{name}.yaml", {"apiVersion": "v1", "kind": "Pod", **body})
        await asyncio.sleep(2)
        mirror = await self.there.cluster.pod(f"{name}-{self.node.options.name}")
        self.uids[name] = mirror["metadata"]["annotations"]["kubernetes.io/config.hash"]

    async def delete(self, names: list[str]) -> None:
        for name in names:
            await self.there.cluster.delete(name)

    async def resize(self, wishes: dict[str, str]) -> None:
        for name, amounts in wishes.items():
            body = {"spec": {"containers": [{"name": "c", "resources": written(amounts)}]}}
            await self.there.cluster.resize(name, body)

    async def rescore(self, scores: dict[str, int]) -> None:
        """Processes choose their own score."""
        for name, score in scores.items():
            pid = self.node.containers(self.uids[name])["c"].pid
            self.node.sim.kernel.machine.processes[pid].oom_score_adj = score

    async def use(self, amounts: dict[str, str]) -> None:
        """Memory that containers hold, as files in memory."""
        for name, amount in amounts.items():
            path = self.node.containers(self.uids[name])["c"].cgroup
            self.node.sim.kernel.machine.cgroups[path].shmem = size(amount)

    # The agent and its way to the cluster

    async def stop(self, _: Any) -> None:
        await self.node.kill()

    async def start(self, config: Any) -> None:
        await self.node.start(**(config or {}))

    async def reach(self, reachable: Any) -> None:
        self.node.reach.is_away = not reachable

    async def refuse_size(self, refuses: Any) -> None:
        """An admission webhook has an opinion about the size of nodes."""
        backend = self.there.cluster.rest.backend
        others = tuple(each for each in backend.plugins if each.name != Budget.name)
        backend.plugins = (*others, Budget()) if refuses else others

    async def annotate(self, notes: dict[str, str | None]) -> None:
        """Somebody writes on the Node."""
        body = {"metadata": {"annotations": notes}}
        await self.there.cluster.cluster.patch(NODES, "", self.node.options.name, body)

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def act(self, what: Json) -> None:
        """Everything that a step lets happen, then as long as it takes."""
        for name, details in what.items():
            await _DEEDS[name](self, details)
        if "wait" not in what:
            await asyncio.sleep(_SOON_S)
        await idle()


_DEEDS: Final[dict[str, Callable[[Stage, Any], Any]]] = {
    "create": Stage.create,
    "delete": Stage.delete,
    "use": Stage.use,
    "resize": Stage.resize,
    "own scores": Stage.rescore,
    "cpus": Stage.set_cpus,
    "offline cpus": Stage.offline,
    "online cpus": Stage.online,
    "plug cpus": Stage.plug_cpus,
    "memory": Stage.set_memory,
    "plug memory": Stage.plug_memory,
    "online memory": Stage.online_memory,
    "balloon": Stage.inflate,
    "hugepages": Stage.hugepages,
    "hugepages in use": Stage.use_hugepages,
    "swap": Stage.swap,
    "alternate": Stage.alternate,
    "uevents": Stage.storm,
    "lost events": Stage.lose,
    "refuses": Stage.refuse,
    "plug node": Stage.plug_node,
    "unplug node": Stage.unplug_node,
    "storage": Stage.set_storage,
    "settling cpus": Stage.settling,
    "unreadable": Stage.blind,
    "writes fail": Stage.break_writes,
    "agent stops": Stage.stop,
    "agent starts": Stage.start,
    "api reachable": Stage.reach,
    "api refuses sizes": Stage.refuse_size,
    "node says": Stage.annotate,
    "wait": Stage.wait,
}


@contextlib.asynccontextmanager
async def stage(given: Json, directory: Path) -> AsyncIterator[Stage]:
    """A node with its pods, and a scheduler that finds places for more."""
    async with world(directory, options(given.get("node", {}))) as there, asyncio.TaskGroup() as tasks:
        for plugin in given.get("without", ()):
            there.let_through(plugin)
        scheduling = tasks.create_task(there.cluster.schedule())
        found = Stage(there)
        await found.create(given.get("pods", {}))
        await asyncio.sleep(1)
        yield found
        scheduling.cancel()
