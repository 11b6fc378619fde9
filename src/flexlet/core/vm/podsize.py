"""How big a launcher pod must be for a guest of a given size: always computed anew, never by differences.

Amounts that the author names in ``domain.resources`` are never undercut; above them the pod follows the guest. The
class of a pod is fixed for life, so limits that are equal to requests stay equal, and others stay different.
"""

from typing import Literal

import msgspec

from flexlet.api.units import MIB
from flexlet.core.vm.overhead import overhead
from flexlet.core.vm.settings import Settings
from flexlet.core.vm.wish import Wanted


class Need(msgspec.Struct, frozen=True):
    """Requests and limits of the `compute` container; a limit of None is not set."""

    cpu_m: int
    memory: int
    cpu_limit_m: int | None = None
    memory_limit: int | None = None
    hugepages: dict[str, int] = msgspec.field(default_factory=dict)
    """Resource name to bytes, as request and limit."""

    @property
    def qos(self) -> Literal["Guaranteed", "Burstable"]:
        """The class of a pod that has these amounts alone."""
        is_equal = (self.cpu_m, self.memory) == (self.cpu_limit_m, self.memory_limit)
        return "Guaranteed" if is_equal else "Burstable"


def need(wanted: Wanted, vcpus: int, memory: int, settings: Settings, measured: int = 0) -> Need:
    """The pod of a guest with this many vCPUs and bytes; `measured` is what `watching.correction` found."""
    cpu, cpu_limit = _cpu(wanted, vcpus, settings)
    beside = max(MIB, overhead(wanted, vcpus, memory, settings) + measured)
    request, limit = _memory(wanted, memory, beside, settings)
    found = Need(cpu, request, cpu_limit, limit, _hugepages(wanted, memory))
    return found if found.qos == "Burstable" or wanted.is_guaranteed else _kept_burstable(found)


def _cpu(wanted: Wanted, vcpus: int, settings: Settings) -> tuple[int, int | None]:
    if wanted.is_dedicated:
        whole = dedicated_cpus(wanted, vcpus, settings) * 1000
        return whole, whole
    threads = vcpus + wanted.io_threads
    request = max(-(-threads * 1000 // settings.cpu_allocation_ratio), wanted.cpu_request_m or 0)
    limit = wanted.cpu_limit_m if wanted.cpu_limit_m or wanted.limit_policy == "None" else threads * 1000
    if wanted.cpu_request_m is None and wanted.cpu_limit_m:
        request = max(request, wanted.cpu_limit_m)  # as Kubernetes fills it in
    return request, None if limit is None else max(limit, request)


def dedicated_cpus(wanted: Wanted, vcpus: int, settings: Settings) -> int:
    """Whole CPUs of its own: one for each vCPU, and the emulator's, which may make an odd sum even."""
    threads = vcpus + wanted.io_threads
    if not wanted.has_emulator_thread:
        return threads
    return threads + (2 if settings.has_even_parity and threads % 2 == 0 else 1)


def _memory(wanted: Wanted, memory: int, beside: int, settings: Settings) -> tuple[int, int | None]:
    named = wanted.memory_request or wanted.memory_limit or 0
    guest = max(-(-memory * 100 // settings.memory_overcommit), named)
    if wanted.page_size:
        guest = max(0, named - memory)
    headroom = max(0, (wanted.memory_limit or named) - named)
    request = guest if wanted.is_overhead_overcommitted and not wanted.is_guaranteed else guest + beside
    if wanted.is_dedicated:
        return request, request
    return request, None if wanted.memory_limit is None else guest + headroom + beside


def _hugepages(wanted: Wanted, memory: int) -> dict[str, int]:
    if not wanted.page_size:
        return {}
    pages = -(-memory // wanted.page_size)
    return {f"hugepages-{wanted.page_name}": pages * wanted.page_size}


def _kept_burstable(found: Need) -> Need:
    """A pod may not become Guaranteed as it grows: its memory limit stays a little above."""
    return msgspec.structs.replace(found, memory_limit=found.memory + MIB)
