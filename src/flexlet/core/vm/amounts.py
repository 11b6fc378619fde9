"""Arithmetic of pod sizes: a limit that is not set is as large as can be."""

from collections.abc import Mapping

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity
from flexlet.core.nodesize import sizes
from flexlet.core.resources.names import CPU, MEMORY
from flexlet.core.vm.podsize import Need


class Sizes(msgspec.Struct, frozen=True):
    """vCPUs and bytes of a guest."""

    vcpus: int
    memory: int

    def of(self, resource: str) -> int:
        """One of both."""
        return self.vcpus if resource == CPU else self.memory

    def put(self, resource: str, amount: int) -> "Sizes":
        """The same with another amount of one."""
        return Sizes(amount, self.memory) if resource == CPU else Sizes(self.vcpus, amount)


def of(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> Need:
    """The size that a container's requests and limits are."""
    cpu, memory = limits.get(CPU), limits.get(MEMORY)
    found = sizes.of(dict(requests))
    return Need(
        found[CPU],
        found[MEMORY],
        cpu.milli if cpu is not None else None,
        memory.value if memory is not None else None,
    )


def bare(need: Need) -> Need:
    """Without huge pages, which no resize touches."""
    return msgspec.structs.replace(need, hugepages={})


def covers(large: Need, small: Need) -> bool:
    """Whether nothing of `small` is missing."""
    return (
        large.cpu_m >= small.cpu_m
        and large.memory >= small.memory
        and _at_least(large.cpu_limit_m, small.cpu_limit_m)
        and _at_least(large.memory_limit, small.memory_limit)
    )


def largest(one: Need, other: Need) -> Need:
    """The larger of each; a limit stays unset only if neither has one."""
    return Need(
        max(one.cpu_m, other.cpu_m),
        max(one.memory, other.memory),
        _larger(one.cpu_limit_m, other.cpu_limit_m),
        _larger(one.memory_limit, other.memory_limit),
    )


def kept_limits(need: Need, spec: Need) -> Need:
    """A limit once set can be changed, never removed: then it stays where it is, or above the request."""
    cpu, memory = need.cpu_limit_m, need.memory_limit
    if cpu is None and spec.cpu_limit_m is not None:
        cpu = max(spec.cpu_limit_m, need.cpu_m)
    if memory is None and spec.memory_limit is not None:
        memory = max(spec.memory_limit, need.memory)
    return Need(need.cpu_m, need.memory, cpu, memory)


def listed(need: Need) -> ResourceList:
    """Its requests."""
    return sizes.listed({CPU: need.cpu_m, MEMORY: need.memory})


def text(need: Need) -> str:
    """For messages."""
    return f"{Quantity.of_milli(need.cpu_m)} CPU and {Quantity.of_bytes(need.memory)}"


def _at_least(large: int | None, small: int | None) -> bool:
    return large is None or (small is not None and large >= small)


def _larger(one: int | None, other: int | None) -> int | None:
    known = [limit for limit in (one, other) if limit is not None]
    return max(known, default=None)
