"""A whole node on a machine whose parts come and go, and what is to be seen of it from outside."""

import asyncio
from typing import Any, Final

import msgspec
from tests.engine.agent.world import World, timeless

from flexlet.core.balloon import names
from flexlet.core.hotplug import saved
from flexlet.core.hotplug.saved import Saved
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.view import NodeView, view
from flexlet.core.machine import difference, discovery, sources
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.files import CPU_FILE, MEMORY_FILE
from flexlet.errors import HostError
from flexlet.ports.cluster import NODES
from flexlet.testing import NodeOptions, idle
from flexlet.testing.host import GIB, SimHost

Json = dict[str, Any]

CONFIG: Final[Json] = {
    "kubeReserved": {"cpu": "500m", "memory": "512Mi"},
    "systemReserved": {"cpu": "500m", "memory": "512Mi"},
    "evictionHard": {"memory.available": "100Mi"},
    "memorySwap": {"swapBehavior": "LimitedSwap"},
    "failSwapOn": False,
}
"""The node of node-resize.md §7."""
STATIC: Final[Json] = CONFIG | {"cpuManagerPolicy": "static"}
BOTH: Final = ResizeSettings(plug=True, unplug=True)
KUBEPODS: Final = "kubepods"
TIERS: Final = (KUBEPODS, "kubepods/burstable", "kubepods/besteffort")
_STORAGE: Final = "/var/lib/kubelet"
_BUSY: Final = ("InProgress", "Failed")
BALLOON: Final[Json] = {
    "metadata": {"labels": {names.LABEL: "true"}},
    "priorityClassName": names.CLASS,
    "priority": -5,
}
"""What makes a pod a balloon."""


def machine(cpus: str = "0-3", memory: int = 8 * GIB, *, config: Json | None = None, **more: Any) -> NodeOptions:
    """A new machine; nothing of it is shared with another."""
    fields: Json = {"resize": BOTH, "hardware": SimHost(cpus, memory, swap=4 * GIB)} | more
    return NodeOptions(cpus=cpus, memory=memory, config=config or CONFIG, **fields)


async def rested(there: World, within_s: float = 400.0) -> Json:
    """The Node as the API has it, once it has followed its machine and says so."""
    loop = asyncio.get_running_loop()
    end = loop.time() + within_s
    while not await is_at_rest(there) or condition(found := await node(there))["reason"] in _BUSY:
        assert loop.time() < end, f"not at rest after {within_s} s: {condition(await node(there))}"
        await asyncio.sleep(0.5)
        await idle()
    return found


async def is_at_rest(there: World) -> bool:
    """Whether the size on disk is that of the machine, and finished."""
    agent, kept = there.node.agent, generations(there)
    if agent is None or kept is None or kept.before is not None or agent.loop.world.resizing:
        return False
    return not difference.difference(kept.generation.machine, await hardware(there))


async def hardware(there: World) -> Machine:
    """The machine as it is, whatever the agent has noticed."""
    host = there.node.host
    return discovery.machine(await host.read(sources.EVERYTHING, (_STORAGE,)), _STORAGE)


def generations(there: World) -> Saved | None:
    """What the file says."""
    raw = there.node.checkpoints.files.get(saved.FILE)
    return None if raw is None else saved.parse_or_none(raw)


async def node(there: World) -> Json:
    """The Node as the API has it."""
    raw = await there.cluster.cluster.get(NODES, "", there.node.options.name)
    return msgspec.json.decode(raw, type=Json)


def condition(found: Json, kind: str = "NodeResize") -> Json:
    """One of its conditions."""
    given = next(
        (each for each in found["status"]["conditions"] if each["type"] == kind), {"reason": "InProgress"}
    )
    shown: Json = timeless({name: text for name, text in given.items() if name != "lastHeartbeatTime"})
    return shown


def size(found: Json) -> Json:
    """What the cluster knows of the node's size."""
    return {name: found["status"][name] for name in ("capacity", "allocatable")} | {
        "swap": found["status"]["nodeInfo"].get("swap"),
        "taints": [each["key"] for each in found["spec"].get("taints", ()) if "flexlet" in each["key"]],
        "condition": condition(found),
    }


async def view_now(there: World, critical_usage: int = 0) -> NodeView:
    """What the node is with the machine as it is."""
    agent = there.node.agent
    assert agent is not None
    managing = agent.loop.world.setup.managers
    return view(await hardware(there), agent.settings, managing, critical_usage=critical_usage)


def books(there: World) -> Json:
    """The managers' files, decoded."""
    files = there.node.checkpoints.files
    return {name: msgspec.json.decode(files[name]) for name in (CPU_FILE, MEMORY_FILE) if name in files}


def containers(there: World, uid: str) -> dict[str, str]:
    """The ids of the running containers of a pod."""
    return {name: each.id for name, each in there.node.containers(uid).items()}


async def picture(there: World, pods: dict[str, str]) -> Json:
    """Everything that is left of what happened, without times, ids and the number of generations it took."""
    kept = generations(there)
    assert kept is not None
    found = {name: pod for name in pods if (pod := await there.get(name)) is not None}
    return {
        "node": size(await node(there)),
        "tiers": {path: there.node.cgroup(path) for path in TIERS},
        "pods": {name: there.picture(pods[name], pod["status"]) for name, pod in found.items()},
        "books": books(there),
        "machine": difference.key(kept.generation.machine),
        "unfinished": kept.before,
    }


def full(name: str) -> HostError:
    """Why a file cannot be written."""
    return HostError(f"cannot write {name}: No space left on device")
