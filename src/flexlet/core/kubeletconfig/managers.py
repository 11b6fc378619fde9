"""The fields of the resource managers: which options there are, and what excludes what.

Follows ``policy_options.go`` of the kubelet's CPU and topology managers (1.36.3), in their words. What depends on
the machine (CPUs that are not there, NUMA nodes, sums of reserved memory) is looked at when the node starts.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from flexlet.api.quantity import ZERO, Quantity
from flexlet.core import gates
from flexlet.core.kubeletconfig.config import KubeletConfiguration
from flexlet.core.kubeletconfig.problems import Problem
from flexlet.core.managers.settings import (
    ALIGN_BY_SOCKET,
    ALIGN_BY_UNCORE_CACHE,
    CPU_NONE,
    CPU_STATIC,
    DISTRIBUTE_ACROSS_CORES,
    DISTRIBUTE_ACROSS_NUMA,
    FULL_PCPUS_ONLY,
    MEMORY_STATIC,
    SINGLE_NUMA_NODE,
    STRICT_CPU_RESERVATION,
)
from flexlet.core.resources.names import CPU
from flexlet.errors import InputError

PREFER_CLOSEST: Final = "prefer-closest-numa-nodes"
MAX_NUMA_NODES: Final = "max-allowable-numa-nodes"
LEAST_NUMA_NODES: Final = 8

_STABLE: Final = ""
_BETA: Final = "Beta"
_ALPHA: Final = "Alpha"
_CPU_OPTIONS: Final[Mapping[str, str]] = {
    FULL_PCPUS_ONLY: _STABLE,
    STRICT_CPU_RESERVATION: _STABLE,
    ALIGN_BY_UNCORE_CACHE: _STABLE,
    DISTRIBUTE_ACROSS_NUMA: _BETA,
    ALIGN_BY_SOCKET: _ALPHA,
    DISTRIBUTE_ACROSS_CORES: _ALPHA,
}
_EXCLUDED: Final = (
    (DISTRIBUTE_ACROSS_CORES, FULL_PCPUS_ONLY),
    (DISTRIBUTE_ACROSS_CORES, DISTRIBUTE_ACROSS_NUMA),
    (DISTRIBUTE_ACROSS_CORES, ALIGN_BY_UNCORE_CACHE),
    (ALIGN_BY_UNCORE_CACHE, DISTRIBUTE_ACROSS_NUMA),
)
_CPU_PATH: Final = "cpuManagerPolicyOptions"
_TOPOLOGY_PATH: Final = "topologyManagerPolicyOptions"


def problems(config: KubeletConfiguration) -> Iterator[Problem]:
    """What the managers cannot do."""
    yield from _cpu_options(config)
    yield from _exclusions(config)
    yield from _topology_options(config)
    yield from _reservations(config)


def _cpu_options(config: KubeletConfiguration) -> Iterator[Problem]:
    given = config.cpu_manager_policy_options
    if config.cpu_manager_policy == CPU_NONE and given:
        yield Problem(_CPU_PATH, "the policy none has no options; remove it")
        return
    for name, text in given.items():
        where = f"{_CPU_PATH}.{name}"
        if name not in _CPU_OPTIONS:
            yield Problem(where, f'unknown CPU Manager Policy option: "{name}"')
            continue
        level = _CPU_OPTIONS[name]
        if level and not _is_on(config, f"CPUManagerPolicy{level}Options"):
            yield Problem(
                where, f'CPU Manager Policy {level}-level Options not enabled, but option "{name}" provided'
            )
        if text.lower() not in gates.WORDS:
            yield Problem(where, f'bad value for option "{name}": {text!r} is neither true nor false')


def _exclusions(config: KubeletConfiguration) -> Iterator[Problem]:
    given = chosen(config.cpu_manager_policy_options)
    for one, other in _EXCLUDED:
        if one in given and other in given:
            yield Problem(_CPU_PATH, f"{one} and {other} exclude each other; remove one of them")
    if ALIGN_BY_SOCKET in given and config.topology_manager_policy == SINGLE_NUMA_NODE:
        yield Problem(_CPU_PATH, f"{ALIGN_BY_SOCKET} cannot be used with topologyManagerPolicy {SINGLE_NUMA_NODE}")


def _topology_options(config: KubeletConfiguration) -> Iterator[Problem]:
    for name, text in config.topology_manager_policy_options.items():
        where = f"{_TOPOLOGY_PATH}.{name}"
        if name == PREFER_CLOSEST:
            if text.lower() not in gates.WORDS:
                yield Problem(where, f'bad value for option "{name}": {text!r} is neither true nor false')
        elif name != MAX_NUMA_NODES:
            yield Problem(where, f'unknown Topology Manager Policy option: "{name}"')
        elif not text.isdecimal():
            yield Problem(where, f'unable to convert policy option to integer "{name}": {text!r} is no number')
        elif int(text) < LEAST_NUMA_NODES:
            least = f'the minimum value of "{name}" should not be less than {LEAST_NUMA_NODES}'
            yield Problem(where, f"{least}, got {text}")


def _reservations(config: KubeletConfiguration) -> Iterator[Problem]:
    if config.memory_manager_policy == MEMORY_STATIC and not config.reserved_memory:
        yield Problem(
            "reservedMemory", "memoryManagerPolicy Static needs the memory that is reserved on each node"
        )
    if config.cpu_manager_policy == CPU_STATIC and not config.reserved_system_cpus and not _reserved(config):
        yield Problem(
            "cpuManagerPolicy",
            "the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero",
        )


def _reserved(config: KubeletConfiguration) -> Quantity:
    """The CPU that is kept from pods; what cannot be read is told where it stands."""
    total = ZERO
    for reserved in (config.kube_reserved, config.system_reserved):
        try:
            total += Quantity.parse(reserved.get(CPU, "0"))
        except InputError:
            return Quantity.of_milli(1)
    return total


def chosen(options: Mapping[str, str]) -> frozenset[str]:
    """Those that are switched on."""
    return frozenset(name for name, text in options.items() if gates.WORDS.get(text.lower(), False))


def _is_on(config: KubeletConfiguration, gate: str) -> bool:
    return config.feature_gates.get(gate, gates.DEFAULTS[gate])
