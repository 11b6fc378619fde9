"""What controllers read of a node."""

from typing import Final

import msgspec

from flexlet.api.meta import Condition, KubeStruct
from flexlet.api.node import Taint
from flexlet.core.views import shared
from flexlet.core.views.objects import Meta, ObjectView, identity, revision


class NodeView(ObjectView, frozen=True, kw_only=True, gc=False):
    """A node; taints are a list without keys, so they are replaced as a whole, at one version."""

    resource_version: str = ""
    created: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    conditions: tuple[Condition, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        """The condition of a type."""
        return next((condition for condition in self.conditions if condition.type == kind), None)


class _Spec(KubeStruct, frozen=True, kw_only=True):
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class _Status(KubeStruct, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()


class _Node(KubeStruct, frozen=True, kw_only=True):
    metadata: Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


_decoder: Final = msgspec.json.Decoder(_Node)


def view(raw: bytes) -> tuple[NodeView, int]:
    """The node's view and revision."""
    node = _decoder.decode(raw)
    found = NodeView(
        **identity(node.metadata),
        resource_version=node.metadata.resource_version,
        created=node.metadata.creation_timestamp or "",
        labels=shared.labels(bytes(node.metadata.labels)),
        taints=node.spec.taints,
        unschedulable=node.spec.unschedulable,
        conditions=node.status.conditions,
    )
    return found, revision(node.metadata.resource_version)
