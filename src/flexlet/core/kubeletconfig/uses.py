"""The configuration in the terms of those who need it."""

from typing import Any, Final

import msgspec

from flexlet.api.cpuset import CpuSet
from flexlet.api.pod import ResourceList
from flexlet.api.quantity import ZERO
from flexlet.api.units import Microseconds
from flexlet.core.cgroups.settings import NO_SWAP, CgroupSettings
from flexlet.core.gates import Gates, switch
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.kubeletconfig import managers
from flexlet.core.kubeletconfig.config import KubeletConfiguration, ShutdownPeriod
from flexlet.core.kubeletconfig.reading import to_value
from flexlet.core.kubeletconfig.reservations import amounts
from flexlet.core.machine.allocatable import Reservation
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.resources.amounts import total
from flexlet.core.resources.names import CPU

SYSTEM_CRITICAL: Final = 2_000_000_000
# Upstream prints false and 0 where its type is a pointer; these are none.
_NO_POINTERS: Final = frozenset(
    {"evictionMaxPodGracePeriod", "podsPerCore", "rotateCertificates", "serverTLSBootstrap"}
)
_PARTS: Final = frozenset({"memorySwap"})


def to_configz(config: KubeletConfiguration) -> dict[str, Any]:
    """What ``/configz`` shows: the configuration in force, defaults filled in, empty fields left out."""
    shown = to_value(config)
    return {
        "kubeletconfig": {name: _without_empty(value) for name, value in shown.items() if _is_shown(name, value)}
    }


def _is_shown(name: str, value: Any) -> bool:
    if name in _NO_POINTERS:
        return bool(value)
    return value is not None and value not in ("", [], ()) and (value != {} or name in _PARTS)


def _without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _without_empty(part) for name, part in value.items() if part != ""}


def gates(config: KubeletConfiguration) -> Gates:
    """Which features are on."""
    return switch(config.feature_gates)


def reservation(config: KubeletConfiguration) -> Reservation:
    """What is kept from pods; named CPUs (``reservedSystemCPUs``) replace the amounts of cpu."""
    system, kube = dict(config.system_reserved), dict(config.kube_reserved)
    cpus = CpuSet.parse(config.reserved_system_cpus)
    if cpus:
        kube.pop("cpu", None)
        system["cpu"] = str(len(cpus))
    return Reservation(kube=amounts(kube), system=amounts(system), eviction_hard=dict(config.eviction_hard))


def reserved(config: KubeletConfiguration) -> ResourceList:
    """What daemons have; a machine with less than this is too small for any pod."""
    kept = reservation(config)
    return total((kept.kube, kept.system))


def resize_settings(config: KubeletConfiguration, how: ResizeSettings | None = None) -> ResizeSettings:
    """How far the node follows its machine is said by the gates, and how, by `how`."""
    on = gates(config)
    plug, unplug = on["NodeResourceHotPlug"], on["NodeResourceHotUnPlug"]
    return msgspec.structs.replace(
        how or ResizeSettings(), plug=plug, unplug=plug and unplug, rewrites_oom_scores=on["OOMScoreRewrite"]
    )


def cgroup_settings(config: KubeletConfiguration) -> CgroupSettings:
    """What decides cgroup values."""
    return CgroupSettings(
        cpu_cfs_quota=config.cpu_cfs_quota,
        cpu_cfs_quota_period=Microseconds(config.cpu_cfs_quota_period.nanoseconds // 1000),
        pod_pids_limit=config.pod_pids_limit,
        single_process_oom_kill=config.single_process_oom_kill,
        memory_swap_behavior=config.memory_swap.swap_behavior or NO_SWAP,
        memory_qos=gates(config)["MemoryQoS"],
        memory_reservation_policy=config.memory_reservation_policy,
        memory_throttling_factor=config.memory_throttling_factor,
    )


def manager_settings(config: KubeletConfiguration) -> ManagerSettings:
    """What the resource managers go by."""
    reserved = reservation(config)
    topology = config.topology_manager_policy_options
    return ManagerSettings(
        cpu_policy=config.cpu_manager_policy,
        cpu_options=managers.chosen(config.cpu_manager_policy_options),
        reserved_cpus=CpuSet.parse(config.reserved_system_cpus) or None,
        reserved_milli=sum(each.get(CPU, ZERO).milli for each in (reserved.kube, reserved.system)),
        memory_policy=config.memory_manager_policy,
        reserved_memory=_reserved_memory(config),
        reservation=reserved,
        topology_policy=config.topology_manager_policy,
        topology_scope=config.topology_manager_scope,
        prefer_closest=managers.PREFER_CLOSEST in managers.chosen(topology),
        max_numa_nodes=int(topology.get(managers.MAX_NUMA_NODES, managers.LEAST_NUMA_NODES)),
        reconcile_s=float(config.cpu_manager_reconcile_period),
    )


def _reserved_memory(config: KubeletConfiguration) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for entry in config.reserved_memory:
        kinds = found.setdefault(entry.numa_node, {})
        kinds |= {name: amount.value for name, amount in entry.limits.items()}
    return found


def shutdown_periods(config: KubeletConfiguration) -> tuple[ShutdownPeriod, ...]:
    """How long pods have at shutdown, by priority; the two simple fields are a short form of the list."""
    if config.shutdown_grace_period_by_pod_priority or not config.shutdown_grace_period:
        return config.shutdown_grace_period_by_pod_priority
    critical = config.shutdown_grace_period_critical_pods
    others = config.shutdown_grace_period - critical
    return (
        ShutdownPeriod(priority=0, shutdown_grace_period_seconds=int(others)),
        ShutdownPeriod(priority=SYSTEM_CRITICAL, shutdown_grace_period_seconds=int(critical)),
    )
