"""Small builders for scheduling tests: nodes and pods in a line each."""

from typing import Any

from flexlet.api import decode
from flexlet.api.node import Node
from flexlet.api.pod import Pod
from flexlet.core.scheduling.decide import decide
from flexlet.core.scheduling.plan import Plan
from flexlet.core.scheduling.world import World


def node(name: str, *, cpu: str = "4", memory: str = "8Gi", pods: str = "110", **rest: Any) -> Node:
    """A node; `labels`, `taints`, `unschedulable` as in the API."""
    allocatable = {"cpu": cpu, "memory": memory, "pods": pods}
    spec = {key: rest[key] for key in ("taints", "unschedulable") if key in rest}
    labels = {"kubernetes.io/hostname": name, **rest.get("labels", {})}
    value = {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"allocatable": allocatable}}
    return decode.from_value(value, Node)


def pod(name: str, *, cpu: str = "1", memory: str = "1Gi", on: str = "", **rest: Any) -> Pod:
    """A pod of one container; keywords beside cpu, memory, labels, owner and status go into its spec."""
    meta: dict[str, Any] = {"name": name, "namespace": rest.pop("namespace", "default"), "uid": f"uid-{name}"}
    meta["labels"] = rest.pop("labels", {})
    if "owner" in rest:
        meta["ownerReferences"] = [{"uid": rest.pop("owner"), "controller": True}]
    status = rest.pop("status", {})
    container = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    container["ports"] = rest.pop("ports", [])
    spec = {"containers": [container], "nodeName": on, **rest}
    return decode.from_value({"metadata": meta, "spec": spec, "status": status}, Pod)


def world_of(*things: Node | Pod) -> World:
    """A world that has seen these objects."""
    world = World()
    for thing in things:
        if isinstance(thing, Node):
            world.node_changed(thing)
        else:
            world.pod_changed(thing)
    return world


def plan_for(*things: Node | Pod) -> Plan:
    """What is decided once these objects are known."""
    return decide(world_of(*things))
