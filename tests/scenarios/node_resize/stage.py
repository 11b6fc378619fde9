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

from flexlet.api.cpuset import CpuSet
from flexlet.api.quantity import Quantity
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.machine.parts import Part
from flexlet.ports.cluster import PODS, Ref
from flexlet.ports.uevents import Uevent
from flexlet.testing import NodeOptions, idle
from flexlet.testing.host import SimHost

Json = dict[str, Any]

BASE: Final[Json] = yaml.safe_load((Path(__file__).parent / "base.yaml").read_text(encoding="utf-8"))
_CLASSES: Final = Ref("scheduling.k8s.io", "v1", "priorityclasses")
_SOON_S: Final = 6.0
"""Enough to notice what the kernel tells, to follow it, and for pods to end."""


def size(text: Any) -> int:
    """``8Gi`` in bytes."""
    return Quantity.parse(str(text)).value


def options(given: Json) -> NodeOptions:
    """The node of a story: the base configuration, and what the story says besides."""
    hardware = SimHost(
        given.get("cpus", "0-3"),
        size(given.get("memory", "8Gi")),
        numa=given.get("numa", ()),
        swap=size(given.get("swap", "4Gi")),
        cores=given.get("cores"),
        auto_online=given.get("auto_online", "online"),
    )
    hardware.awake -= set(CpuSet.parse(str(given.get("offline", ""))))
    config = {**BASE, **given.get("config", {})}
    wishes = given.get("resize", {})
    following = None if wishes == "gates" else ResizeSettings(**{"plug": True, "unplug": True} | wishes)
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


class Stage:
    """A story under way."""

    def __init__(self, there: World) -> None:
        self.there = there
        self.node = there.node
        self.host = there.node.host
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
        if priority:
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

    async def use(self, amounts: dict[str, str]) -> None:
        """Memory that containers hold, as files in memory."""
        for name, amount in amounts.items():
            path = self.node.containers(self.uids[name])["c"].cgroup
            self.node.sim.kernel.machine.cgroups[path].shmem = size(amount)

    # The machine

    async def set_cpus(self, listed: Any) -> None:
        self.host.cpus = str(listed)

    async def offline(self, listed: Any) -> None:
        """CPUs stay in the machine and are switched off."""
        for cpu in CpuSet.parse(str(listed)):
            self.host.sleep(cpu)

    async def online(self, listed: Any) -> None:
        for cpu in CpuSet.parse(str(listed)):
            self.host.wake(cpu)

    async def set_memory(self, amount: Any) -> None:
        """Blocks are plugged or unplugged until there is so much in all."""
        missing = size(amount) - self.host.memory
        if missing > 0:
            self.host.plug_memory(missing)
        elif missing < 0:
            self.host.unplug_memory(-missing)

    async def plug_memory(self, amount: Any) -> None:
        self.host.plug_memory(size(amount))

    async def online_memory(self, blocks: Any) -> None:
        """As an administrator does it."""
        for block in CpuSet.parse(str(blocks)):
            self.host.fill(block, "online")

    async def inflate(self, amount: Any) -> None:
        """MemTotal becomes that, and nobody is told."""
        self.host.set_memory(size(amount))

    async def hugepages(self, counts: dict[str, int]) -> None:
        for page, count in counts.items():
            self.host.set_hugepages(size(page), count)

    async def swap(self, amount: Any) -> None:
        self.host.swapoff()
        if amount:
            self.host.swapon(size(amount))

    async def alternate(self, how: Json) -> None:
        """Between two sizes, so often in so many seconds."""
        pause = how["seconds"] / how["times"]
        for number in range(how["times"]):
            await self.set_memory(how["sizes"][(number + 1) % 2])
            await asyncio.sleep(pause)

    async def storm(self, count: int) -> None:
        """Events about nothing at all."""
        for number in range(count):
            self.host.tell(Uevent("change", f"/devices/system/cpu/cpu{number % 4}", "cpu"))

    async def lose(self, _: Any) -> None:
        self.host.overrun()

    async def refuse(self, part: str) -> None:
        self.host.refuse(str(Part.parse(part)))

    # The agent and its way to the cluster

    async def stop(self, _: Any) -> None:
        await self.node.kill()

    async def start(self, config: Any) -> None:
        await self.node.start(**(config or {}))

    async def reach(self, reachable: bool) -> None:
        self.node.reach.is_away = not reachable

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
    "cpus": Stage.set_cpus,
    "offline cpus": Stage.offline,
    "online cpus": Stage.online,
    "memory": Stage.set_memory,
    "plug memory": Stage.plug_memory,
    "online memory": Stage.online_memory,
    "balloon": Stage.inflate,
    "hugepages": Stage.hugepages,
    "swap": Stage.swap,
    "alternate": Stage.alternate,
    "uevents": Stage.storm,
    "lost events": Stage.lose,
    "refuses": Stage.refuse,
    "agent stops": Stage.stop,
    "agent starts": Stage.start,
    "api reachable": Stage.reach,
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
