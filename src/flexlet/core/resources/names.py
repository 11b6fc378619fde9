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
