"""Huge page limits by page size.

The API names a size in its resource (``hugepages-2Mi``), the kernel in its file (``hugetlb.2MB.max``). Huge pages
are never overcommitted, so a pod's cgroup allows exactly what the pod requests.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from flexlet.api.quantity import Quantity
from flexlet.api.units import Bytes
from flexlet.core.resources.names import HUGEPAGES_PREFIX, is_hugepages
from flexlet.errors import InputError

UNBOUNDED: Final = Bytes(2**62)
"""The limit of the QoS tiers: their pods are limited one by one."""

_UNITS: Final = ("B", "KB", "MB", "GB", "TB", "PB")


def page_size(name: str) -> Bytes:
    """The page size in a resource name; 0 if it has none that can be read, as upstream."""
    try:
        return Bytes(Quantity.parse(name.removeprefix(HUGEPAGES_PREFIX)).value)
    except InputError:
        return Bytes(0)


def size_text(size: int) -> str:
    """A page size as the kernel's file names spell it (``2MB``)."""
    unit = 0
    while size and size % 1024 == 0 and unit < len(_UNITS) - 1:
        size //= 1024
        unit += 1
    return f"{size}{_UNITS[unit]}"


def by_size(amounts: Mapping[str, Quantity]) -> dict[int, int]:
    """The huge page entries of a resource list: page size to bytes."""
    result: dict[int, int] = {}
    for name, amount in amounts.items():
        if is_hugepages(name):
            size = page_size(name)
            result[size] = result.get(size, 0) + amount.value
    return result


def container_limits(
    pod_level: Mapping[str, Quantity], own: Mapping[str, Quantity], host_sizes: Iterable[int]
) -> dict[str, int]:
    """Limits of a container for every size of the host: its own, else the pod's, else none allowed."""
    named: dict[int, int] = {}
    for amounts in (pod_level, own):
        named.update({page_size(name): amount.value for name, amount in amounts.items() if is_hugepages(name)})
    return {size_text(size): named.get(size, 0) for size in host_sizes}
