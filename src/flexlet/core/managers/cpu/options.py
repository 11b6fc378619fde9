"""Checks of what the operator wrote about the CPU manager, in the kubelet's words."""

from collections.abc import Mapping
from typing import Final

from flexlet.core.gates import Gates
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.settings import (
    ALIGN_BY_SOCKET,
    ALIGN_BY_UNCORE_CACHE,
    CPU_NONE,
    CPU_STATIC,
    DISTRIBUTE_ACROSS_CORES,
    DISTRIBUTE_ACROSS_NUMA,
    FULL_PCPUS_ONLY,
    SINGLE_NUMA_NODE,
    STRICT_CPU_RESERVATION,
    ManagerSettings,
)
from flexlet.errors import ConfigError

ALPHA: Final = frozenset({ALIGN_BY_SOCKET, DISTRIBUTE_ACROSS_CORES})
BETA: Final = frozenset({DISTRIBUTE_ACROSS_NUMA})
STABLE: Final = frozenset({FULL_PCPUS_ONLY, STRICT_CPU_RESERVATION, ALIGN_BY_UNCORE_CACHE})
EXCLUSIONS: Final = (
    (FULL_PCPUS_ONLY, DISTRIBUTE_ACROSS_CORES),
    (DISTRIBUTE_ACROSS_NUMA, DISTRIBUTE_ACROSS_CORES),
    (ALIGN_BY_UNCORE_CACHE, DISTRIBUTE_ACROSS_CORES),
    (ALIGN_BY_UNCORE_CACHE, DISTRIBUTE_ACROSS_NUMA),
)
"""Options that cannot be used together, in the order in which they are checked."""
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})


def read_options(policy: str, options: Mapping[str, str], gates: Gates) -> frozenset[str]:
    """The options that are true (``cpuManagerPolicyOptions``); ConfigError for what cannot be used."""
    if policy == CPU_NONE and options:
        said = " ".join(f"{name}:{value}" for name, value in sorted(options.items()))
        raise ConfigError(f"None policy: received unsupported options=map[{said}]")
    for name in sorted(options):
        _check_available(name, gates)
    chosen = frozenset(name for name in sorted(options) if _truth(name, options[name]))
    _check_exclusions(chosen)
    return chosen


def check(settings: ManagerSettings, machine: Machine) -> None:
    """ConfigError if a node cannot begin with these settings on this machine: policy, options, reservation."""
    check_lasting(settings, machine)
    wanted = settings.reserved_cpus if settings.pins_cpus else None
    if wanted and not wanted.issubset(machine.online):
        raise ConfigError(f"reserved-cpus: {wanted} is not a subset of online-cpus: {machine.online}")


def check_lasting(settings: ManagerSettings, machine: Machine) -> None:
    """The part of `check` that holds for a node that was here before: its reserved CPUs may have gone since."""
    if settings.cpu_policy not in (CPU_NONE, CPU_STATIC):
        raise ConfigError(f'unknown policy: "{settings.cpu_policy}"; write {CPU_NONE} or {CPU_STATIC}')
    if not settings.pins_cpus:
        return
    _check_exclusions(settings.cpu_options)
    _check_sockets(settings, machine)
    _check_reservation(settings)


def _check_available(name: str, gates: Gates) -> None:
    if name not in ALPHA | BETA | STABLE:
        raise ConfigError(f'unknown CPU Manager Policy option: "{name}"')
    for level, options in (("Alpha", ALPHA), ("Beta", BETA)):
        if name in options and not gates[f"CPUManagerPolicy{level}Options"]:
            raise ConfigError(
                f'CPU Manager Policy {level}-level Options not enabled, but option "{name}" provided'
            )


def _truth(name: str, word: str) -> bool:
    if word not in _TRUE | _FALSE:
        raise ConfigError(f'bad value for option "{name}": strconv.ParseBool: parsing "{word}": invalid syntax')
    return word in _TRUE


def _check_exclusions(options: frozenset[str]) -> None:
    for one, other in EXCLUSIONS:
        if one in options and other in options:
            raise ConfigError(f"static policy options {one} and {other} can not be used at the same time")


def _check_sockets(settings: ManagerSettings, machine: Machine) -> None:
    if ALIGN_BY_SOCKET not in settings.cpu_options:
        return
    if settings.topology_policy == SINGLE_NUMA_NODE:
        raise ConfigError(
            f"Topolgy manager {SINGLE_NUMA_NODE} policy is incompatible with "
            f"CPUManager {ALIGN_BY_SOCKET} policy option"
        )
    if len({cpu.socket for cpu in machine.cpus}) > len({cpu.numa for cpu in machine.cpus}):
        raise ConfigError(
            "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA"
        )


def _check_reservation(settings: ManagerSettings) -> None:
    if not settings.reserved_cpus and settings.reserved_milli <= 0:
        raise ConfigError(
            "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
        )
