"""What people are told about a node.

The events carry no uid: they may be told before the Node exists, and kubectl finds them by name.
"""

from typing import Final

from flexlet.core.actions import RecordEvent

COMPONENT: Final = "kubelet"


def starting(node: str) -> RecordEvent:
    """The agent has started."""
    return of_node(node, "Normal", "Starting", "Starting kubelet.")


def status_is_now(node: str, reason: str) -> RecordEvent:
    """A condition changed: NodeReady, NodeHasDiskPressure."""
    return of_node(node, "Normal", reason, f"Node {node} status is now: {reason}")


def rebooted(node: str, boot_id: str) -> RecordEvent:
    """The machine was started again since the Node was written last."""
    return of_node(node, "Warning", "Rebooted", f"Node {node} has been rebooted, boot id: {boot_id}")


def allocatable_enforced(node: str, problem: str) -> RecordEvent:
    """The limit around all pods holds, or why not."""
    if problem:
        return of_node(node, "Warning", "FailedNodeAllocatableEnforcement", problem)
    return of_node(node, "Normal", "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods")


def invalid_disk_capacity(node: str) -> RecordEvent:
    """The filesystem with the images cannot be measured."""
    return of_node(node, "Warning", "InvalidDiskCapacity", "invalid capacity 0 on image filesystem")


def shutdown(node: str, begins: bool) -> RecordEvent:
    """The machine is going down, or is not after all."""
    what = "event" if begins else "cancellation"
    return of_node(node, "Normal", "Shutdown", f"Shutdown manager detected shutdown {what}")


def of_node(node: str, kind: str, reason: str, message: str) -> RecordEvent:
    """Anything else; `kind` is Normal or Warning."""
    about = {"kind": "Node", "apiVersion": "v1", "name": node}
    return RecordEvent(about=about, type=kind, reason=reason, message=message, component=COMPONENT)
