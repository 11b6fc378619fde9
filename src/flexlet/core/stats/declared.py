"""The families of ``/metrics`` and ``/metrics/probes``: names, kinds, labels and buckets.

The names are the kubelet's, so that dashboards and alerts written for it work, but for those about the agent's own
loop; label values are the words of conditions and events. Counters and histograms without labels are shown from
the start, gauges once they are set and whatever has labels once it was counted.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from flexlet.core.resize import metrics as resize
from flexlet.core.stats.exposition import COUNTER, GAUGE, HISTOGRAM

PROBES: Final = "probes"
METRICS: Final = "metrics"


class Declared(msgspec.Struct, frozen=True):
    """A family that may be counted."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    page: str = METRICS


def _exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    return tuple(start * factor**power for power in range(count))


_DEFAULT: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_POD_START: Final = (
    *(0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600),
    *(900, 1200, 1800, 2700, 3600),
)
_PULL: Final = (1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600)
_STATUS_SYNC: Final = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60)
_ROTATION: Final = (60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000)
_REST: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_FOLLOW: Final = (*_DEFAULT, 30.0, 60.0, 120.0)
_HTTP: Final = ("method", "path", "server_type", "long_running")
_OPERATION: Final = ("operation_type",)

_COUNTERS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "flexlet_uevent_overruns_total": ("Times the kernel's events were lost.", ()),
    "flexlet_uevents_total": ("The kernel's events about parts of the machine.", ("subsystem", "action")),
    "flexlet_unplug_victims_total": ("Pods ended because the machine became smaller.", ("reason",)),
    "kubelet_node_resize_errors_total": ("Steps to another size of the machine that failed.", ("subsystem",)),
    "kubelet_node_resize_requests_total": ("Resources that became more or less.", ("resource", "direction")),
    "node_hot_unplug_errors_total": ("Unplugs for which pods could not be asked again.", ()),
    "node_hot_unplug_request_total": ("Unplugs noticed.", ()),
    "node_resize_resync_errors_total": ("Attempts to follow the machine that failed.", ()),
    "node_resize_resync_request_total": ("Changes of the machine's size noticed.", ()),
    "flexlet_agent_late_rounds_total": ("Rounds of the agent's loop that took more than 0.1 s.", ()),
    "flexlet_agent_rounds_total": ("Rounds of the agent's loop.", ()),
    "kubelet_admission_rejections_total": ("Pods refused by the node.", ("reason",)),
    "kubelet_certificate_manager_client_expiration_renew_errors": ("Failed renewals.", ()),
    "kubelet_cpu_manager_pinning_errors_total": ("Pinnings that failed.", ()),
    "kubelet_cpu_manager_pinning_requests_total": ("Containers that asked for CPUs of their own.", ()),
    "kubelet_evented_pleg_connection_error_count": ("Failed connections to the runtime's events.", ()),
    "kubelet_evented_pleg_connection_success_count": ("Connections to the runtime's events.", ()),
    "kubelet_evictions": ("Pods evicted.", ("eviction_signal",)),
    "kubelet_http_requests_total": ("Requests to the node's endpoint.", _HTTP),
    "kubelet_image_garbage_collected_total": ("Images removed.", ("reason",)),
    "kubelet_image_manager_ensure_image_requests_total": (
        "Images asked for.",
        ("present_locally", "pull_policy", "pull_required"),
    ),
    "kubelet_lifecycle_handler_http_fallbacks_total": ("Hooks sent again without TLS.", ()),
    "kubelet_memory_manager_pinning_errors_total": ("Memory pinnings that failed.", ()),
    "kubelet_memory_manager_pinning_requests_total": ("Containers that asked for memory of their own.", ()),
    "kubelet_orphaned_runtime_pods_total": ("Pods found in the runtime that nobody wants.", ()),
    "kubelet_pleg_discard_events": ("Observations of the runtime that were dropped.", ()),
    "kubelet_preemptions": ("Pods preempted by the node.", ("preemption_signal",)),
    "kubelet_restarted_pods_total": ("Pods restarted under the same name.", ("static",)),
    "kubelet_run_podsandbox_errors_total": ("Sandboxes that failed to start.", ("runtime_handler",)),
    "kubelet_runtime_operations_errors_total": ("Failed calls to the runtime.", _OPERATION),
    "kubelet_runtime_operations_total": ("Calls to the runtime.", _OPERATION),
    "kubelet_sleep_action_terminated_early_total": ("Sleep hooks cut short.", ()),
    "kubelet_started_containers_errors_total": ("Containers that failed to start.", ("container_type", "code")),
    "kubelet_started_containers_total": ("Containers started.", ("container_type",)),
    "kubelet_started_pods_errors_total": ("Pods that failed to start.", ()),
    "kubelet_started_pods_total": ("Pods started.", ()),
    "kubelet_started_user_namespaced_pods_errors_total": ("Pods with users of their own that failed.", ()),
    "kubelet_started_user_namespaced_pods_total": ("Pods with users of their own started.", ()),
    "kubelet_terminated_containers_total": ("Containers that ended.", ("container_type", "exit_code", "reason")),
    "kubelet_topology_manager_admission_errors_total": ("Pods that fit no topology.", ()),
    "kubelet_topology_manager_admission_requests_total": ("Pods asked to fit a topology.", ()),
    "kubelet_websocket_streaming_requests_total": ("Streams over WebSockets.", ("subresource",)),
    "rest_client_requests_total": ("Requests to the API.", ("code", "host", "method")),
}

_GAUGES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "flexlet_node_generation": ("The size of the machine that counts, by number.", ()),
    "flexlet_node_half_plugged": ("Parts of the machine that nobody brought online.", ("kind",)),
    "flexlet_agent_longest_round_seconds": ("The longest round of the agent's loop so far.", ()),
    "kubelet_active_pods": ("Pods that are not finished.", ("static",)),
    "kubelet_certificate_manager_client_ttl_seconds": ("Until the client certificate expires.", ()),
    "kubelet_certificate_manager_server_ttl_seconds": ("Until the serving certificate expires.", ()),
    "kubelet_cgroup_version": ("The version of cgroups in use.", ()),
    "kubelet_container_log_filesystem_used_bytes": (
        "Bytes of a container's logs.",
        ("uid", "namespace", "pod", "container"),
    ),
    "kubelet_cpu_manager_allocation_per_numa": ("CPUs given away, by NUMA node.", ("numa_node",)),
    "kubelet_cpu_manager_exclusive_cpu_allocation_count": ("CPUs given to one container alone.", ()),
    "kubelet_cpu_manager_shared_pool_size_millicores": ("CPUs that are shared.", ()),
    "kubelet_cri_losing_support": ("1 if the runtime is too old for a coming version.", ("version",)),
    "kubelet_desired_pods": ("Pods that should run here.", ("static",)),
    "kubelet_first_network_pod_start_sli_duration_seconds": ("Start of the first pod with a network.", ()),
    "kubelet_graceful_shutdown_end_time_seconds": ("When the last shutdown ended.", ()),
    "kubelet_graceful_shutdown_start_time_seconds": ("When the last shutdown began.", ()),
    "kubelet_http_inflight_requests": ("Requests being answered.", _HTTP),
    "kubelet_managed_ephemeral_containers": ("Ephemeral containers in pods.", ()),
    "kubelet_metrics_provider": ("Where the numbers come from.", ("provider",)),
    "kubelet_mirror_pods": ("Static pods shown in the API.", ()),
    "kubelet_node_name": ("The node's name.", ("node",)),
    "kubelet_node_startup_duration_seconds": ("From start to Ready.", ()),
    "kubelet_node_startup_post_registration_duration_seconds": ("From registration to Ready.", ()),
    "kubelet_node_startup_pre_kubelet_duration_seconds": ("From boot to the agent's start.", ()),
    "kubelet_node_startup_pre_registration_duration_seconds": ("From start to registration.", ()),
    "kubelet_node_startup_registration_duration_seconds": ("How long registration took.", ()),
    "kubelet_orphan_pod_cleaned_volumes": ("Pods whose left-over volumes were removed.", ()),
    "kubelet_orphan_pod_cleaned_volumes_errors": ("Pods whose left-over volumes resist.", ()),
    "kubelet_pleg_last_seen_seconds": ("When the runtime was last looked over.", ()),
    "kubelet_running_containers": ("Containers, by state.", ("container_state",)),
    "kubelet_running_pods": ("Pods with a running sandbox.", ()),
    "kubelet_volume_stats_available_bytes": ("Free bytes of a claim.", ("namespace", "persistentvolumeclaim")),
    "kubelet_volume_stats_capacity_bytes": ("Size of a claim.", ("namespace", "persistentvolumeclaim")),
    "kubelet_volume_stats_inodes": ("Inodes of a claim.", ("namespace", "persistentvolumeclaim")),
    "kubelet_volume_stats_inodes_free": ("Free inodes of a claim.", ("namespace", "persistentvolumeclaim")),
    "kubelet_volume_stats_inodes_used": ("Used inodes of a claim.", ("namespace", "persistentvolumeclaim")),
    "kubelet_volume_stats_used_bytes": ("Used bytes of a claim.", ("namespace", "persistentvolumeclaim")),
    "kubelet_working_pods": ("Pods being looked after.", ("lifecycle", "config", "static")),
    "kubernetes_build_info": (
        "Which build this is.",
        (
            *("build_date", "compiler", "git_commit", "git_tree_state", "git_version"),
            *("go_version", "major", "minor", "platform"),
        ),
    ),
    "kubernetes_feature_enabled": ("Whether a feature is switched on.", ("name", "stage")),
}

_HISTOGRAMS: Final[dict[str, tuple[str, tuple[str, ...], tuple[float, ...]]]] = {
    "flexlet_node_resize_duration_seconds": ("Seconds to follow the machine.", ("phase",), _FOLLOW),
    "kubelet_certificate_manager_server_rotation_seconds": ("Age of certificates when replaced.", (), _ROTATION),
    "kubelet_cgroup_manager_duration_seconds": ("Seconds of work on cgroups.", _OPERATION, _DEFAULT),
    "kubelet_containers_per_pod_count": ("Containers per pod.", (), _exponential(1, 2, 5)),
    "kubelet_evented_pleg_connection_latency_seconds": ("Age of the runtime's events.", (), _DEFAULT),
    "kubelet_eviction_stats_age_seconds": ("Age of numbers evictions rest on.", ("eviction_signal",), _DEFAULT),
    "kubelet_http_requests_duration_seconds": ("Seconds until requests were answered.", _HTTP, _DEFAULT),
    "kubelet_image_pull_duration_seconds": ("Seconds to pull an image.", ("image_size_in_bytes",), _PULL),
    "kubelet_pleg_pod_relist_duration_seconds": ("Seconds to look at one pod.", (), _DEFAULT),
    "kubelet_pleg_relist_duration_seconds": ("Seconds to look over the runtime.", (), _DEFAULT),
    "kubelet_pleg_relist_interval_seconds": ("Seconds between two looks.", (), _DEFAULT),
    "kubelet_pod_start_duration_seconds": ("Seconds from seeing a pod to running it.", (), _POD_START),
    "kubelet_pod_start_sli_duration_seconds": ("The same from creation, without pulls.", (), _POD_START),
    "kubelet_pod_start_total_duration_seconds": ("The same with pulls and init containers.", (), _POD_START),
    "kubelet_pod_status_sync_duration_seconds": ("Seconds until the API knew a status.", (), _STATUS_SYNC),
    "kubelet_pod_worker_duration_seconds": ("Seconds of one sync of a pod.", _OPERATION, _DEFAULT),
    "kubelet_pod_worker_start_duration_seconds": ("Seconds from seeing a pod to its first sync.", (), _DEFAULT),
    "kubelet_run_podsandbox_duration_seconds": ("Seconds to start a sandbox.", ("runtime_handler",), _DEFAULT),
    "kubelet_runtime_operations_duration_seconds": (
        "Seconds of calls to the runtime.",
        _OPERATION,
        _exponential(0.005, 2.5, 14),
    ),
    "kubelet_topology_manager_admission_duration_ms": (
        "Milliseconds to fit a topology.",
        (),
        _exponential(0.05, 2, 15),
    ),
    "kubelet_volume_metric_collection_duration_seconds": (
        "Seconds to measure volumes.",
        ("metric_source",),
        _DEFAULT,
    ),
    "rest_client_request_duration_seconds": ("Seconds of requests to the API.", ("host", "verb"), _REST),
}

_PROBE_COUNTER: Final = Declared(
    "prober_probe_total",
    COUNTER,
    "Probes of containers, by result.",
    ("probe_type", "result", "container", "pod", "namespace", "pod_uid"),
    page=PROBES,
)
_PROBE_DURATION: Final = Declared(
    "prober_probe_duration_seconds",
    HISTOGRAM,
    "Seconds a probe took.",
    ("probe_type", "container", "pod", "namespace"),
    _DEFAULT,
    PROBES,
)


def _all() -> Iterator[Declared]:
    for name, (text, labels) in _COUNTERS.items():
        yield Declared(name, COUNTER, text, labels)
    for name, (text, labels) in _GAUGES.items():
        yield Declared(name, GAUGE, text, labels)
    for name, (text, labels, buckets) in _HISTOGRAMS.items():
        yield Declared(name, HISTOGRAM, text, labels, buckets)
    for metric in resize.ALL:
        yield Declared(metric.name, metric.kind, "In-place resizes of pods.", metric.labels, metric.buckets)
    yield from (_PROBE_COUNTER, _PROBE_DURATION)


FAMILIES: Final = {family.name: family for family in _all()}
