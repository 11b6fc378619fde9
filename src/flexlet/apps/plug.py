"""Change the size of a hollow node's pretended machine, and see it arrive.

The wish travels as an annotation on the Node; whichever process simulates the node obeys it. So the command works
wherever the API can be reached. (Real machines are plugged through their hypervisor, not here.)
"""

from typing import Final

import msgspec

from flexlet.api import decode
from flexlet.api.node import Node
from flexlet.api.pod import ResourceList
from flexlet.core.hollow.machine import HOLLOW_LABEL, MACHINE_ANNOTATION
from flexlet.errors import ConfigError, FlexletError
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import NODES, Cluster

_POLL_S: Final = 0.1


class Resized(msgspec.Struct, frozen=True):
    """What the node had, and what it has."""

    node: str
    before: ResourceList
    after: ResourceList


async def plug(cluster: Cluster, clock: Clock, name: str, cpus: int, memory: int, patience_s: float) -> Resized:
    """Add CPUs and bytes of memory (negative: take away) and wait until the node reports it."""
    before = decode.from_json(await cluster.get(NODES, "", name), Node)
    if before.metadata.labels.get(HOLLOW_LABEL) != "true":
        raise ConfigError(f"node {name} is not a hollow node: its machine is plugged by its hypervisor")
    wanted_cpus = before.status.capacity["cpu"].value + cpus
    wanted_memory = before.status.capacity["memory"].value + memory
    if wanted_cpus < 1 or wanted_memory < 1:
        has = f"{before.status.capacity['cpu']} CPUs and {before.status.capacity['memory']} of memory"
        raise ConfigError(f"cannot unplug that much: {name} has {has}, and a machine needs some of both")
    wish = msgspec.json.encode({"cpu": str(wanted_cpus), "memory": str(wanted_memory)}).decode()
    await cluster.patch(NODES, "", name, {"metadata": {"annotations": {MACHINE_ANNOTATION: wish}}})
    deadline = clock.monotonic() + patience_s
    while clock.monotonic() < deadline:
        node = decode.from_json(await cluster.get(NODES, "", name), Node)
        capacity = node.status.capacity
        if (capacity["cpu"].value, capacity["memory"].value) == (wanted_cpus, wanted_memory):
            return Resized(name, before.status.capacity, capacity)
        await clock.sleep(_POLL_S)
    raise FlexletError(
        f"node {name} has not taken its new size within {patience_s:g} s: is `flexlet up` still running?"
    )
