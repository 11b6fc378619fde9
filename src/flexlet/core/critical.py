"""Which pods the node protects above all others.

A pod is critical if the node runs it from its own files (static, or the mirror of such a pod in the API) or if its
priority is one of the system ones. Critical pods get no swap; node-critical ones are never the kernel's first
victim.
"""

from typing import Final

from flexlet.api.pod import Pod

SYSTEM_CRITICAL_PRIORITY: Final = 2_000_000_000
SYSTEM_NODE_CRITICAL: Final = "system-node-critical"
SOURCE_ANNOTATION: Final = "kubernetes.io/config.source"
SEEN_ANNOTATION: Final = "kubernetes.io/config.seen"
MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
API_SOURCE: Final = "api"


def is_critical(pod: Pod) -> bool:
    """Whether the pod is static, mirrored, or of system priority."""
    return is_static(pod) or (pod.spec.priority is not None and pod.spec.priority >= SYSTEM_CRITICAL_PRIORITY)


def is_static(pod: Pod) -> bool:
    """Whether the pod comes from the node's own files, or is the mirror of one that does."""
    annotations = pod.metadata.annotations
    return annotations.get(SOURCE_ANNOTATION, API_SOURCE) != API_SOURCE or MIRROR_ANNOTATION in annotations


def is_node_critical(pod: Pod) -> bool:
    """Whether the node cannot do without the pod."""
    return pod.spec.priority_class_name == SYSTEM_NODE_CRITICAL and is_critical(pod)
