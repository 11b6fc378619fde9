"""The Node objects of a fleet: registered, as big as their machines, said to be well, kept alive by leases.

A node is looked at when the API showed something of it, and with each lease, so that what failed is said again.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from flexlet.api.meta import Condition
from flexlet.api.node import Node
from flexlet.core.actions import ApiAction, CreateObject, PatchObject, RecordEvent
from flexlet.core.hollow import health
from flexlet.core.hollow.heartbeat import Leases
from flexlet.core.hollow.machine import Machine, machine_of, node_object, size_status
from flexlet.core.observations import Failed
from flexlet.core.refs import NODES


class HollowNode(msgspec.Struct):
    """A node of the fleet: its machine and the running sum of what its pods hold."""

    name: str
    machine: Machine
    uid: str = ""
    used: dict[str, int] = {}
    pods: set[str] = set()
    published: Machine | None = None
    """How big the API says that it is."""
    conditions: tuple[Condition, ...] = ()
    """What the API says of its health."""
    is_doubted: bool = False
    """Whether that is not what it says itself, and nothing was done about it yet."""


class Registry:
    """Owns the nodes of a fleet."""

    def __init__(self, names: Iterable[str], machine: Machine, version: str, features: Iterable[str]) -> None:
        self.nodes = {name: HollowNode(name=name, machine=machine) for name in names}
        self._version = version
        self._features = sorted(features)
        self._leases = Leases()
        self._look = set(self.nodes)

    def seen(self, node: Node) -> bool:
        """Take over what the API says; whether a node of ours has another machine now."""
        own = self.nodes.get(node.metadata.name)
        if own is None:
            return False
        before = own.machine
        own.machine = machine_of(node.metadata.annotations, own.machine)
        if not own.uid:
            self._leases.add(own.name, node.metadata.uid)
        own.uid = node.metadata.uid
        if node.status.allocatable == own.machine.allocatable():
            own.published = own.machine
        own.conditions = node.status.conditions
        own.is_doubted = not health.is_well(own.conditions)
        if own.is_doubted or own.published != own.machine:
            self._look.add(own.name)
        return before != own.machine

    def gone(self, name: str) -> None:
        """A node was deleted: it registers again."""
        own = self.nodes[name]
        own.uid, own.published, own.conditions, own.is_doubted = "", None, (), False
        self._look.add(name)

    def failed(self, failure: Failed) -> None:
        """A node that could not be made is made at once; what it has to say is said again with its next lease."""
        self._leases.failed(failure)
        match failure.action:
            case CreateObject(ref=ref, body=body) if ref == NODES:
                self._look.add(body["metadata"]["name"])
            case PatchObject(ref=ref, name=name, patch=patch) if ref == NODES and name in self.nodes:
                self._unsaid(self.nodes[name], patch)
            case _:
                pass

    @staticmethod
    def _unsaid(own: HollowNode, patch: Any) -> None:
        if "capacity" in patch["status"]:
            own.published = None
        else:
            own.is_doubted = not health.is_well(own.conditions)

    def is_well(self, name: str) -> bool:
        """Whether the API says so."""
        return health.is_well(self.nodes[name].conditions)

    def due(self, now: float) -> list[ApiAction]:
        """What nodes have to say now."""
        renewing = self._leases.due(now)
        look, self._look = sorted(self._look.union(renewing)), set()
        said = [action for name in look for action in self._actions(self.nodes[name], now)]
        return said + [self._leases.renewal(name, now) for name in renewing]

    def next_due(self) -> float:
        """When the next lease is to be renewed."""
        return self._leases.next_due()

    def _actions(self, node: HollowNode, now: float) -> list[ApiAction]:
        if not node.uid:
            node.published = node.machine
            body = node_object(node.name, node.machine, self._version, self._features, now)
            return [CreateObject(ref=NODES, body=body)]
        return [*_resized(node), *_well_again(node, now)]


def _resized(node: HollowNode) -> list[ApiAction]:
    if node.published == node.machine:
        return []
    node.published = node.machine
    size = f"{node.machine.cpus} CPUs, {node.machine.memory} bytes of memory"
    patch = {"status": size_status(node.machine)}
    return [
        PatchObject(ref=NODES, name=node.name, patch=patch, subresource="status"),
        _event(node, "NodeResized", f"Machine is now {size}"),
    ]


def _well_again(node: HollowNode, now: float) -> list[ApiAction]:
    if not node.is_doubted:
        return []
    node.is_doubted = False
    news = _event(node, "NodeReady", f"Node {node.name} status is now: NodeReady")
    return [
        PatchObject(
            ref=NODES,
            name=node.name,
            patch={"status": {"conditions": health.posted(node.conditions, now)}},
            kind="strategic",
            subresource="status",
            event=None if health.was_ready(node.conditions) else news,
        )
    ]


def _event(node: HollowNode, reason: str, message: str) -> RecordEvent:
    about = {"kind": "Node", "apiVersion": "v1", "name": node.name, "uid": node.uid}
    return RecordEvent(about=about, type="Normal", reason=reason, message=message, component="flexlet")
