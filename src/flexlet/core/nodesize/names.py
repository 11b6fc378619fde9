"""Every name by which balloons and their nodes are known to others."""

from typing import Final

from flexlet.core.actions import Ref
from flexlet.core.balloon import names as balloons

GROUP: Final = "flexlet.io"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "NodeSize"
NODE_SIZES: Final[Ref] = (GROUP, VERSION, "nodesizes")

NAMESPACE: Final = balloons.NAMESPACE
CLASS: Final = balloons.CLASS
CLASS_VALUE: Final = 1_000_000_000
CRITICAL_CLASS: Final = "system-node-critical"

LABEL: Final = balloons.LABEL
"""``"true"`` on balloons; ``enabled`` on nodes that a DaemonSet shall give one."""
SHAPE_LABEL: Final = "flexlet.io/balloon-shape"
CONTAINER: Final = "balloon"
FINALIZER: Final = "flexlet.io/balloon"

DESIRED: Final = "flexlet.io/balloon-desired"
"""On a balloon: JSON of the size last wanted."""
OWNER: Final = "flexlet.io/balloon-owner"
"""On a balloon: who alone may resize it."""
ENFORCE: Final = balloons.ENFORCE
"""On a balloon: JSON of what the node's agent shall hold its pods to (`objects.Enforced`)."""
POLICIES: Final = "flexlet.io/kubelet-policies"
"""On a node: JSON of the kubelet's policies (`shapes.Policies`), where its configz cannot be read."""
AGENT: Final = balloons.AGENT
"""On a node, as annotation: its agent is flexlet's own (any value)."""
GENERATION: Final = "flexlet.io/generation"
"""On a node: the same is said by an agent that follows its machine."""
REQUESTED: Final = "flexlet.io/requested-at"
"""On a NodeSize: any new value asks once more for a target that was refused."""
DESIRED_CAPACITY: Final = "flexlet.io/desired-capacity"
UNPLUG_READY: Final = "flexlet.io/unplug-ready"

PENDING_TAINT: Final = balloons.PENDING_TAINT
"""Put on by whoever registers the node; taken away when the balloon has its size."""
MISSING_TAINT: Final = "flexlet.io/balloon-missing"
RESIZING_TAINT: Final = "flexlet.io/resizing"

COMPONENT: Final = "nodesize-controller"
LEASE: Final = "flexlet-nodesize-controller"
