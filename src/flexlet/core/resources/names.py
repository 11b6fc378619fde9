"""Resource names and the few classes of them that the rules distinguish."""

from typing import Final

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
HUGEPAGES_PREFIX: Final = "hugepages-"

COMPUTE: Final[tuple[str, ...]] = (CPU, MEMORY)
"""The two resources that make a QoS class and that may be overcommitted."""


def is_hugepages(name: str) -> bool:
    """Whether this is an amount of huge pages of one size (``hugepages-2Mi``)."""
    return name.startswith(HUGEPAGES_PREFIX)


def is_pod_level(name: str) -> bool:
    """Whether ``spec.resources`` of a pod may name it (KEP-2837)."""
    return name in COMPUTE or name.startswith(HUGEPAGES_PREFIX)


def is_native(name: str) -> bool:
    """Whether Kubernetes itself defines the resource, as opposed to a device plugin or an operator."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether somebody advertises it on nodes under a name of their own (``example.com/gpu``)."""
    return not is_native(name) and not name.startswith("requests.")
