"""The fields of a Node that flexlet reads."""

from typing import Any

from flexlet.api.meta import Condition, KubeStruct, ObjectMeta
from flexlet.api.pod import ResourceList


class Taint(KubeStruct, frozen=True, kw_only=True):
    """A mark that keeps pods away unless they tolerate it."""

    key: str
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeSpec(KubeStruct, frozen=True, kw_only=True):
    """What operators and controllers say about a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = ""


class NodeStatus(KubeStruct, frozen=True, kw_only=True):
    """What the node says about itself."""

    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    declared_features: tuple[str, ...] = ()
    images: tuple[dict[str, Any], ...] = ()


class Node(KubeStruct, frozen=True, kw_only=True):
    """A node as flexlet reads it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
