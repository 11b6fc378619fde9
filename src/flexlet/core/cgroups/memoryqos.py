"""Memory protection and throttling (KEP-2570; off by default in Kubernetes 1.36).

With TieredReservation the request of a Guaranteed pod is never reclaimed (``memory.min``), that of others only
when nothing else is left (``memory.low``). ``memory.high`` slows a container down before it hits its limit: it
lies a factor of the way from request to limit, on a page boundary. All of it only on cgroup v2 and only if the
feature is on; without a reservation policy containers get explicit zeros, so that switching it off takes effect.
"""

from math import floor

from flexlet.api.pod import Container
from flexlet.api.units import Bytes
from flexlet.core.cgroups.settings import TIERED_RESERVATION, CgroupSettings, Host
from flexlet.core.resources.amounts import memory_bytes
from flexlet.core.resources.qos import GUARANTEED


def reserves(settings: CgroupSettings) -> bool:
    """Whether requests are protected from reclaim."""
    return settings.memory_qos and settings.memory_reservation_policy == TIERED_RESERVATION


def pod_protection(qos: str, request: int, settings: CgroupSettings) -> tuple[Bytes | None, Bytes | None]:
    """``memory.min`` and ``memory.low`` of a pod."""
    if not reserves(settings) or request <= 0:
        return None, None
    return (Bytes(request), None) if qos == GUARANTEED else (None, Bytes(request))


def container_files(qos: str, container: Container, host: Host, settings: CgroupSettings) -> dict[str, str]:
    """``memory.min``, ``memory.low`` and ``memory.high`` of a container, by its own request and limit."""
    if not settings.memory_qos:
        return {}
    request, limit = memory_bytes(container.resources.requests), memory_bytes(container.resources.limits)
    files = _container_protection(qos, request, settings)
    ceiling = limit or host.allocatable_memory
    high = memory_high(request, ceiling, settings.memory_throttling_factor, host.page_size)
    if request != limit and high > request:
        files["memory.high"] = str(high)
    return files


def memory_high(request: int, ceiling: int, factor: float, page_size: int = 4096) -> Bytes:
    """Where throttling begins between a request and a limit (or the node's allocatable memory)."""
    if ceiling <= 0:
        return Bytes(0)
    return Bytes(floor(request + (ceiling - request) * factor) // page_size * page_size)


def _container_protection(qos: str, request: int, settings: CgroupSettings) -> dict[str, str]:
    if request == 0 or not reserves(settings):
        return {"memory.min": "0", "memory.low": "0"}
    return {"memory.min" if qos == GUARANTEED else "memory.low": str(request)}
