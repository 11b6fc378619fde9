"""The capacity of a node, from the facts of its hardware.

CPUs are counted whole, memory in bytes, each huge page size is a resource of its own. What others advertise on the
Node object (extended resources patched in by an operator) is kept as it stands.
"""

from collections.abc import Mapping
from typing import Final

from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity
from flexlet.core.resources.names import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY, PODS

DEFAULT_MAX_PODS: Final = 110


def capacity(
    *,
    cpus: int,
    memory: int,
    hugepages: Mapping[int, int] | None = None,
    ephemeral_storage: int | None = None,
    max_pods: int = DEFAULT_MAX_PODS,
    pods_per_core: int = 0,
    published: ResourceList | None = None,
) -> ResourceList:
    """The capacity of a machine; `hugepages` counts pages by their size in bytes.

    `published` is the capacity now on the Node object: names that the machine does not decide are kept.
    """
    result = dict(published or {})
    result[CPU] = Quantity.of_milli(cpus * 1000)
    result[MEMORY] = Quantity.of_bytes(memory)
    for size, count in (hugepages or {}).items():
        result[f"{HUGEPAGES_PREFIX}{Quantity.of_bytes(size)}"] = Quantity.of_bytes(size * count)
    if ephemeral_storage is not None:
        result[EPHEMERAL_STORAGE] = Quantity.of_bytes(ephemeral_storage)
    pods = min(cpus * pods_per_core, max_pods) if pods_per_core > 0 else max_pods
    result[PODS] = Quantity.of_milli(pods * 1000)
    return result
