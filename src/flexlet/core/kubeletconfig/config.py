"""The fields of KubeletConfiguration that exist in flexlet, with the defaults of the kubelet 1.36.3.

Field names are the file's names in snake case (`json_name` goes the other way). Durations are seconds. Where a
default depends on another field, the value here is the one of an empty file; `reading` knows the rest.
"""

from typing import Annotated, Final

import msgspec

from flexlet.api.duration import Duration
from flexlet.api.node import Taint
from flexlet.api.pod import ResourceList
from flexlet.core.machine.allocatable import DEFAULT_EVICTION_HARD

API_VERSION: Final = "kubelet.config.k8s.io/v1beta1"
KIND: Final = "KubeletConfiguration"

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

_MINUTE: Final = 60
_ACRONYMS: Final = {
    "api": "API",
    "ca": "CA",
    "cfs": "CFS",
    "cidr": "CIDR",
    "cpus": "CPUs",
    "dns": "DNS",
    "gc": "GC",
    "id": "ID",
    "oom": "OOM",
    "qos": "QOS",
    "qps": "QPS",
    "tls": "TLS",
    "ttl": "TTL",
}


def json_name(field: str) -> str:
    """``cpu_cfs_quota`` is ``cpuCFSQuota`` in the file."""
    first, *others = field.split("_")
    return first + "".join(_ACRONYMS.get(part, part.capitalize()) for part in others)


class ConfigStruct(msgspec.Struct, frozen=True, kw_only=True, rename=json_name):
    """Base of the parts: frozen, spelt as upstream spells it."""


class X509Authentication(ConfigStruct, frozen=True, kw_only=True):
    """Client certificates signed by this authority name their user."""

    client_ca_file: str = ""


class WebhookAuthentication(ConfigStruct, frozen=True, kw_only=True):
    """Bearer tokens are shown to the API server (TokenReview)."""

    enabled: bool = True
    cache_ttl: Duration = Duration(2 * _MINUTE)


class AnonymousAuthentication(ConfigStruct, frozen=True, kw_only=True):
    """Whether requests without credentials get in as ``system:anonymous``."""

    enabled: bool = False


class Authentication(ConfigStruct, frozen=True, kw_only=True):
    """Who may speak to the node's endpoint."""

    x509: X509Authentication = X509Authentication()
    webhook: WebhookAuthentication = WebhookAuthentication()
    anonymous: AnonymousAuthentication = AnonymousAuthentication()


class WebhookAuthorization(ConfigStruct, frozen=True, kw_only=True):
    """How long the API server's answers (SubjectAccessReview) are remembered."""

    cache_authorized_ttl: Duration = Duration(5 * _MINUTE)
    cache_unauthorized_ttl: Duration = Duration(30)


class Authorization(ConfigStruct, frozen=True, kw_only=True):
    """What they may do there."""

    mode: str = "Webhook"
    webhook: WebhookAuthorization = WebhookAuthorization()


class MemorySwap(ConfigStruct, frozen=True, kw_only=True):
    """Whether containers may swap."""

    swap_behavior: str = ""


class CrashLoopBackOff(ConfigStruct, frozen=True, kw_only=True):
    """The longest pause before a failing container is started again."""

    max_container_restart_period: Duration = Duration(5 * _MINUTE)


class Logging(ConfigStruct, frozen=True, kw_only=True):
    """How the agent logs."""

    format: str = "text"
    verbosity: Annotated[int, msgspec.Meta(ge=0)] = 0


class ShutdownPeriod(ConfigStruct, frozen=True, kw_only=True):
    """How long pods of at least this priority have when the machine shuts down."""

    priority: Int32
    shutdown_grace_period_seconds: Int64


class MemoryReservation(ConfigStruct, frozen=True, kw_only=True):
    """Memory of a NUMA node that is not for pods."""

    numa_node: Int32
    limits: ResourceList


class KubeletConfiguration(ConfigStruct, frozen=True, kw_only=True):
    """How a node is to behave."""

    # Where pods come from besides the API.
    static_pod_path: str = ""
    file_check_frequency: Duration = Duration(20)

    # The node's endpoint.
    enable_server: bool = True
    address: str = "0.0.0.0"  # noqa: S104  upstream's default
    port: Int32 = 10250
    healthz_port: Int32 = 10248
    healthz_bind_address: str = "127.0.0.1"
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    tls_cipher_suites: tuple[str, ...] = ()
    tls_min_version: str = ""
    authentication: Authentication = Authentication()
    authorization: Authorization = Authorization()
    enable_debugging_handlers: bool = True
    enable_system_log_handler: bool = True

    # Towards the API server.
    rotate_certificates: bool = False
    server_tls_bootstrap: bool = False
    kube_api_qps: Int32 = 50
    kube_api_burst: Int32 = 100
    event_record_qps: Int32 = 50
    event_burst: Int32 = 100

    # The Node object.
    register_node: bool = True
    register_with_taints: tuple[Taint, ...] = ()
    provider_id: str = ""
    node_status_update_frequency: Duration = Duration(10)
    node_status_report_frequency: Duration = Duration(5 * _MINUTE)
    node_status_max_images: Int32 = 50
    node_lease_duration_seconds: Int32 = 40
    max_pods: Int32 = 110
    pods_per_core: Int32 = 0

    # Pods' network and files.
    cluster_domain: str = ""
    cluster_dns: tuple[str, ...] = ()
    resolv_conf: str = "/etc/resolv.conf"
    pod_cidr: str = ""
    pod_logs_dir: str = "/var/log/pods"
    container_log_max_size: str = "10Mi"
    container_log_max_files: Int32 = 5
    container_log_monitor_interval: Duration = Duration(10)

    # The runtime and its images.
    container_runtime_endpoint: str = "unix:///run/containerd/containerd.sock"
    image_service_endpoint: str = ""
    runtime_request_timeout: Duration = Duration(2 * _MINUTE)
    crash_loop_back_off: CrashLoopBackOff = CrashLoopBackOff()
    serialize_image_pulls: bool = True
    max_parallel_image_pulls: Int32 | None = None
    registry_pull_qps: Int32 = 5
    registry_burst: Int32 = 10
    image_minimum_gc_age: Duration = Duration(2 * _MINUTE)
    image_maximum_gc_age: Duration = Duration(0)
    image_gc_high_threshold_percent: Int32 = 85
    image_gc_low_threshold_percent: Int32 = 80

    # cgroups.
    cgroup_root: str = ""
    cgroups_per_qos: bool = True
    cgroup_driver: str = "cgroupfs"
    cpu_cfs_quota: bool = True
    cpu_cfs_quota_period: Duration = Duration(0.1)
    pod_pids_limit: Int64 = -1
    single_process_oom_kill: bool = False
    memory_throttling_factor: float = 0.9
    memory_reservation_policy: str = "None"
    fail_swap_on: bool = True
    memory_swap: MemorySwap = MemorySwap()

    # What is kept from pods.
    system_reserved: dict[str, str] = {}
    kube_reserved: dict[str, str] = {}
    system_reserved_cgroup: str = ""
    kube_reserved_cgroup: str = ""
    enforce_node_allocatable: tuple[str, ...] = ("pods",)
    reserved_system_cpus: str = ""
    cpu_manager_policy: str = "none"
    cpu_manager_policy_options: dict[str, str] = {}
    cpu_manager_reconcile_period: Duration = Duration(10)
    memory_manager_policy: str = "None"
    reserved_memory: tuple[MemoryReservation, ...] = ()
    topology_manager_policy: str = "none"
    topology_manager_scope: str = "container"
    topology_manager_policy_options: dict[str, str] = {}

    # Eviction.
    eviction_hard: dict[str, str] = msgspec.field(default_factory=DEFAULT_EVICTION_HARD.copy)
    eviction_soft: dict[str, str] = {}
    eviction_soft_grace_period: dict[str, str] = {}
    eviction_minimum_reclaim: dict[str, str] = {}
    eviction_pressure_transition_period: Duration = Duration(5 * _MINUTE)
    eviction_max_pod_grace_period: Int32 = 0
    merge_default_eviction_settings: bool = False

    # Shutdown of the machine.
    shutdown_grace_period: Duration = Duration(0)
    shutdown_grace_period_critical_pods: Duration = Duration(0)
    shutdown_grace_period_by_pod_priority: tuple[ShutdownPeriod, ...] = ()

    # The rest.
    seccomp_default: bool = False
    allowed_unsafe_sysctls: tuple[str, ...] = ()
    oom_score_adj: Int32 = -999
    logging: Logging = Logging()
    feature_gates: dict[str, bool] = {}
