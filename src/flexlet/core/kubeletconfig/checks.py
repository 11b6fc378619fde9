"""Upstream's rules for the fields that flexlet has, and a few of its start-up checks.

Each check is a function from the configuration to its problems. Bounds follow the kubelet's
``validation.ValidateKubeletConfiguration`` (1.36.3); addresses and names that the kubelet would only log about are
problems here too, because nobody reads that log.
"""

import posixpath
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from flexlet.api import addresses, names
from flexlet.api.duration import Duration
from flexlet.api.quantity import ZERO, Quantity
from flexlet.core import gates
from flexlet.core.agent.containers import sysctls
from flexlet.core.kubeletconfig import managers, reservations, support, thresholds, tls
from flexlet.core.kubeletconfig.config import KubeletConfiguration, json_name
from flexlet.core.kubeletconfig.problems import Problem
from flexlet.errors import ConfigError, InputError

Check = Callable[[KubeletConfiguration], Iterator[Problem]]

_TOP: Final = 2**31 - 1
# Lowest and highest value; the checks that are no ranges follow below.
RANGES: Final[dict[str, tuple[int, int]]] = {
    "container_log_max_files": (2, _TOP),
    "event_burst": (0, _TOP),
    "event_record_qps": (0, _TOP),
    "healthz_port": (0, 65535),
    "image_gc_high_threshold_percent": (0, 100),
    "image_gc_low_threshold_percent": (0, 100),
    "kube_api_burst": (0, _TOP),
    "kube_api_qps": (0, _TOP),
    "max_parallel_image_pulls": (1, _TOP),
    "max_pods": (0, _TOP),
    "node_lease_duration_seconds": (1, _TOP),
    "node_status_max_images": (-1, _TOP),
    "oom_score_adj": (-1000, 1000),
    "pods_per_core": (0, _TOP),
    "port": (1, 65535),
    "registry_burst": (0, _TOP),
    "registry_pull_qps": (0, _TOP),
}
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "cgroup_driver": ("cgroupfs", "systemd"),
    "cpu_manager_policy": ("none", "static"),
    "memory_manager_policy": ("None", "Static"),
    "memory_reservation_policy": ("None", "TieredReservation"),
    "topology_manager_policy": ("none", "best-effort", "restricted", "single-numa-node"),
    "topology_manager_scope": ("container", "pod"),
}
DURATIONS: Final[dict[str, tuple[float, float]]] = {
    "container_log_monitor_interval": (3, float("inf")),
    "cpu_cfs_quota_period": (0.001, 1),
    "image_maximum_gc_age": (0, float("inf")),
    "image_minimum_gc_age": (0, float("inf")),
    "runtime_request_timeout": (0, float("inf")),
}
_NAMESPACED: Final = ("kernel.sem", "kernel.shm", "kernel.msg", "net.", "fs.mqueue.")
"""What parameters begin with that the kernel has once for each namespace."""
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def problems(config: KubeletConfiguration) -> Iterator[Problem]:
    """Everything that is wrong with a configuration that could be read."""
    for check in CHECKS:
        yield from check(config)


def _ranges(config: KubeletConfiguration) -> Iterator[Problem]:
    for field, (low, high) in RANGES.items():
        value = getattr(config, field)
        if value is not None and not low <= value <= high:
            limit = f"at least {low}" if high == _TOP else f"between {low} and {high}"
            yield Problem(json_name(field), f"{value} is out of range; it must be {limit}")


def _choices(config: KubeletConfiguration) -> Iterator[Problem]:
    for field, choices in CHOICES.items():
        value = getattr(config, field)
        if value not in choices:
            yield Problem(json_name(field), f"{value!r} is none of {', '.join(choices)}")
    for path, value, known in (
        ("authorization.mode", config.authorization.mode, ("AlwaysAllow", "Webhook")),
        ("memorySwap.swapBehavior", config.memory_swap.swap_behavior, ("", "NoSwap", "LimitedSwap")),
        ("logging.format", config.logging.format, ("text", "json")),
    ):
        if value not in known:
            yield Problem(path, f"{value!r} is none of {', '.join(filter(None, known))}")


def _unsupported(config: KubeletConfiguration) -> Iterator[Problem]:
    values = {json_name(field): value for field, value in msgspec.structs.asdict(config).items()}
    for path, refused in support.REFUSED_VALUES.items():
        if values[path] in refused:
            shown = msgspec.json.encode(values[path]).decode()
            yield Problem(path, f"{shown} is not supported: {refused[values[path]]}")


def _places(config: KubeletConfiguration) -> Iterator[Problem]:
    """What pods may be put under, and what they may set."""
    if config.cgroup_root not in {"", "/"}:
        yield Problem("cgroupRoot", f"{config.cgroup_root!r} is not supported: pods lie in /kubepods; remove it")
    for index, pattern in enumerate(config.allowed_unsafe_sysctls):
        if not sysctls.dotted(pattern).startswith(_NAMESPACED):
            path = f"allowedUnsafeSysctls[{index}]"
            yield Problem(path, f"{pattern!r} is not namespaced, no pod can set it for itself; remove it")


def _durations(config: KubeletConfiguration) -> Iterator[Problem]:
    for field, (low, high) in DURATIONS.items():
        value: Duration = getattr(config, field)
        if not low <= value <= high:
            limit = f"at least {Duration(low)}" if high == float("inf") else f"{Duration(low)} to {Duration(high)}"
            yield Problem(json_name(field), f"{value} is out of range; it must be {limit}")
    restart = config.crash_loop_back_off.max_container_restart_period
    if not 1 <= restart <= 300:
        path = "crashLoopBackOff.maxContainerRestartPeriod"
        yield Problem(path, f"{restart} is out of range; it must be 1s to 5m0s")


def _images(config: KubeletConfiguration) -> Iterator[Problem]:
    low, high = config.image_gc_low_threshold_percent, config.image_gc_high_threshold_percent
    if low >= high:
        yield Problem("imageGCLowThresholdPercent", f"{low} must be less than imageGCHighThresholdPercent {high}")
    oldest, youngest = config.image_maximum_gc_age, config.image_minimum_gc_age
    if 0 < oldest <= youngest:
        yield Problem("imageMaximumGCAge", f"{oldest} must be greater than imageMinimumGCAge {youngest}")
    if config.serialize_image_pulls and (config.max_parallel_image_pulls or 1) > 1:
        yield Problem("maxParallelImagePulls", "more than 1 needs serializeImagePulls false")


def _shutdown(config: KubeletConfiguration) -> Iterator[Problem]:
    whole, critical = config.shutdown_grace_period, config.shutdown_grace_period_critical_pods
    for path, value in (("shutdownGracePeriod", whole), ("shutdownGracePeriodCriticalPods", critical)):
        if value < 0 or 0 < value < 1:
            yield Problem(path, f"{value} must be 0s or at least 1s")
    if critical > whole:
        yield Problem("shutdownGracePeriodCriticalPods", f"{critical} must not exceed shutdownGracePeriod {whole}")
    if config.shutdown_grace_period_by_pod_priority and (whole or critical):
        path = "shutdownGracePeriodByPodPriority"
        yield Problem(path, "set either this or shutdownGracePeriod, not both")


def _taints(config: KubeletConfiguration) -> Iterator[Problem]:
    for index, taint in enumerate(config.register_with_taints):
        path = f"registerWithTaints[{index}]"
        for text in names.label_key(taint.key):
            yield Problem(f"{path}.key", text)
        for text in names.label_value(taint.value):
            yield Problem(f"{path}.value", text)
        if taint.effect not in ("", *_EFFECTS):
            yield Problem(f"{path}.effect", f"{taint.effect!r} is none of {', '.join(_EFFECTS)}")
        if taint.time_added is not None:
            yield Problem(f"{path}.timeAdded", "the server sets it; remove it")


def _addresses(config: KubeletConfiguration) -> Iterator[Problem]:
    fields = {"address": config.address}
    fields |= {f"clusterDNS[{index}]": text for index, text in enumerate(config.cluster_dns)}
    for path, text in fields.items():
        for complaint in addresses.legacy_ip(text):
            yield Problem(path, f"{text!r} {complaint}")
    for text in filter(None, config.pod_cidr.split(",")):
        for complaint in addresses.legacy_cidr(text):
            yield Problem("podCIDR", f"{text!r} {complaint}")


def _files(config: KubeletConfiguration) -> Iterator[Problem]:
    logs = config.pod_logs_dir
    if not logs.startswith("/") or logs.startswith("//") or posixpath.normpath(logs) != logs or not logs.isascii():
        yield Problem("podLogsDir", f"{logs!r} must be an absolute, normal path in ASCII")
    try:
        if Quantity.parse(config.container_log_max_size) < ZERO:
            yield Problem("containerLogMaxSize", f"{config.container_log_max_size} must not be negative")
    except InputError as error:
        yield Problem("containerLogMaxSize", f"{config.container_log_max_size!r}: {error.message}")
    if bool(config.tls_cert_file) != bool(config.tls_private_key_file):
        missing = "tlsPrivateKeyFile" if config.tls_cert_file else "tlsCertFile"
        yield Problem(missing, "a certificate needs its key: set both tlsCertFile and tlsPrivateKeyFile")


def _memory(config: KubeletConfiguration) -> Iterator[Problem]:
    if not 0 < config.memory_throttling_factor <= 1:
        yield Problem(
            "memoryThrottlingFactor", f"{config.memory_throttling_factor} must be above 0 and at most 1.0"
        )
    if config.memory_reservation_policy == "TieredReservation" and not config.feature_gates.get("MemoryQoS"):
        yield Problem("memoryReservationPolicy", "TieredReservation needs the feature gate MemoryQoS")


def _gates(config: KubeletConfiguration) -> Iterator[Problem]:
    try:
        enabled = gates.switch(config.feature_gates)
    except ConfigError as error:
        yield Problem("featureGates", str(error))
        return
    for name, needed in gates.NEEDS.items():
        off = [each for each in needed if not enabled[each]]
        if enabled[name] and off:
            yield Problem(f"featureGates.{name}", f"it needs {', '.join(off)}; switch that on, or this off")


CHECKS: Final[tuple[Check, ...]] = (
    _ranges,
    _choices,
    _unsupported,
    _places,
    _durations,
    _images,
    _shutdown,
    _taints,
    _addresses,
    _files,
    _memory,
    _gates,
    tls.problems,
    reservations.problems,
    managers.problems,
    thresholds.problems,
)
