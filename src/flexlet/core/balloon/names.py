"""The names by which nodes and everybody else know balloons."""

from typing import Final

NAMESPACE: Final = "kube-system"
CLASS: Final = "flexlet-balloon"
LABEL: Final = "flexlet.io/balloon"
"""``"true"`` on balloons; ``enabled`` on nodes that a DaemonSet shall give one."""
ENFORCE: Final = "flexlet.io/enforce"
"""On a balloon: JSON of what the node's agent shall hold its pods to (`wish.Enforced`)."""
PENDING_TAINT: Final = "flexlet.io/balloon-pending"
"""Put on by whoever registers the node; taken away when the balloon has its size."""
AGENT: Final = "flexlet.io/agent"
"""On a node, as annotation: its agent is flexlet's own (any value)."""
