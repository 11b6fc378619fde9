"""A node whose CPU manager gives containers CPUs of their own, and what is to be seen of them."""

import asyncio
from typing import Any, Final

import msgspec
from tests.engine.agent.world import World, amounts

from flexlet.api.units import GIB
from flexlet.core.managers.files import CPU_FILE
from flexlet.testing import NodeOptions, idle

Json = dict[str, Any]
STATIC: Final = {
    "cpuManagerPolicy": "static",
    "kubeReserved": {"cpu": "500m", "memory": "512Mi"},
    "systemReserved": {"cpu": "500m", "memory": "512Mi"},
    "evictionHard": {"memory.available": "100Mi"},
}
NODE: Final = NodeOptions(cpus="0-3", memory=8 * GIB, config=STATIC)
G1: Final = amounts("1,64Mi", "1,64Mi")
G2: Final = amounts("2,64Mi", "2,64Mi")
SHARED: Final = amounts("50m,32Mi", "200m,64Mi")


def cpus(there: World, uid: str) -> dict[str, tuple[str, str]]:
    """Of each container of a pod: the CPUs it shall run on, and how much time it may have on them."""
    found = there.node.pod_cgroups(uid)
    return {name: (each["cpuset.cpus"], each["cpu.max"]) for name, each in found.items()}


def book(there: World) -> tuple[str, Json]:
    """The shared CPUs and the others by pod, as the state file has them."""
    found = msgspec.json.decode(there.node.checkpoints.files[CPU_FILE])
    return found["defaultCpuSet"], found.get("entries", {})


def is_failed(found: Json | None) -> bool:
    return found is not None and found["status"]["phase"] == "Failed"


async def settled(seconds: float = 3.0) -> None:
    await asyncio.sleep(seconds)
    await idle()


async def told(there: World, name: str) -> list[tuple[str, str, str]]:
    found = await there.cluster.events()
    return [(e["type"], e["reason"], e["message"]) for e in found if e["involvedObject"]["name"] == name]
