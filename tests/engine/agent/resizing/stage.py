"""A node of four CPUs and 8Gi that is told of an unplug before it happens, and what is seen of it meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.engine.agent.world import World, amounts, is_ready, world

from flexlet.api.units import GIB
from flexlet.core.hotplug import saved
from flexlet.core.hotplug.preparing import Prepared
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.managers.files import CPU_FILE
from flexlet.ports.cluster import NODES
from flexlet.testing import NodeOptions, SimHost, idle

Json = dict[str, Any]

CONFIG: Final = {
    "kubeReserved": {"cpu": "500m", "memory": "512Mi"},
    "systemReserved": {"cpu": "500m", "memory": "512Mi"},
    "evictionHard": {"memory.available": "100Mi"},
}
STATIC: Final = CONFIG | {"cpuManagerPolicy": "static"}
RESIZE: Final = ResizeSettings(plug=True, unplug=True)
REPLACED: Final = ResizeSettings(plug=True, unplug=True, prepare_s=20.0)
FOUR: Final = '{"cpu":"2","memory":"4Gi"}'
B: Final = amounts("500m,2Gi", "1,4Gi")
G1: Final = amounts("1,1Gi", "1,1Gi")
STUBBORN: Final = {
    "resources": amounts("100m,3Gi"),
    "command": ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"],
}
BUDGET: Final = {
    "metadata": {"name": "keep"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "big"}}},
}
WHOLE: Final = {"cpu": "3", "memory": "7068Mi"}
LESS: Final = {"cpu": "1", "memory": "2972Mi"}


def node(config: Json = CONFIG, resize: ResizeSettings = RESIZE) -> NodeOptions:
    return NodeOptions(hardware=SimHost("0-3", 8 * GIB), config=config, resize=resize)


class Stage:
    """A node and what is asked of it."""

    def __init__(self, there: World) -> None:
        self.there = there
        self.host = there.node.host

    async def wish(self, text: str | None) -> None:
        patch = {"metadata": {"annotations": {"flexlet.io/desired-capacity": text}}}
        await self.there.cluster.cluster.patch(NODES, "", "node-a", patch)

    async def node(self) -> Json:
        found: Json = msgspec.json.decode(await self.there.cluster.cluster.get(NODES, "", "node-a"))
        return found

    async def offer(self) -> Json:
        """What schedulers and people see of the node."""
        found = await self.node()
        allocatable = found["status"]["allocatable"]
        resize = next(each for each in found["status"]["conditions"] if each["type"] == "NodeResize")
        notes = found["metadata"]["annotations"]
        return {
            "allocatable": {name: allocatable[name] for name in ("cpu", "memory")},
            "closed": any(each["key"] == "flexlet.io/resizing" for each in found["spec"].get("taints", ())),
            "reason": resize["reason"],
            "ready": notes.get("flexlet.io/unplug-ready"),
            "generation": notes["flexlet.io/generation"],
        }

    async def until(self, holds: Callable[[Json], bool], within_s: float = 60.0) -> Json:
        """Wait until the node says so."""
        end = asyncio.get_running_loop().time() + within_s
        while not holds(found := await self.offer()):
            assert asyncio.get_running_loop().time() < end, found
            await self.passes(0.25)
        return found

    async def passes(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await idle()

    async def message(self) -> str:
        """Of the condition."""
        conditions = (await self.node())["status"]["conditions"]
        return str(next(each["message"] for each in conditions if each["type"] == "NodeResize"))

    def book(self) -> tuple[str, Json]:
        """The shared CPUs and the others by pod."""
        found = msgspec.json.decode(self.there.node.checkpoints.files[CPU_FILE])
        return found["defaultCpuSet"], found.get("entries", {})

    def pinned(self, uid: str) -> str:
        return self.there.node.pod_cgroups(uid)["a"]["cpuset.cpus"]

    def parts(self) -> tuple[int, int]:
        """CPUs and blocks that are online."""
        return len(self.host.awake), sum(state == "online" for state in self.host.blocks.values())

    def remove(self) -> None:
        """What is offline is taken out of the machine."""
        self.host.unplug_cpus(self.host.present - self.host.awake)
        self.host.unplug_blocks([block for block, state in self.host.blocks.items() if state == "offline"])

    def prepared(self) -> Prepared:
        """What the file says of it."""
        found = saved.parse(self.there.node.checkpoints.files[saved.FILE])
        assert isinstance(found, saved.Saved)
        return found.prepared

    async def told(self, name: str) -> list[tuple[str, str]]:
        found = await self.there.cluster.events()
        return [(e["reason"], e["message"]) for e in found if e["involvedObject"]["name"] == name]


@asynccontextmanager
async def staged(directory: Path, options: NodeOptions | None = None) -> AsyncIterator[Stage]:
    """A node of four CPUs and 8Gi with one small pod."""
    async with world(directory, options or node()) as there:
        await there.create("web", {"a": B})
        await there.until("web", is_ready)
        yield Stage(there)
        assert is_ready(await there.get("web")), "nobody had a reason to end it"


def is_ready_to_unplug(found: Json) -> bool:
    return found["ready"] is not None


def is_refused(found: Json) -> bool:
    return bool(found["reason"] == "UnplugRefused")


def is_closing_memory(found: Json) -> bool:
    return bool(found["allocatable"] == {"cpu": "3", "memory": LESS["memory"]})
