"""The configuration in the terms of those who need it."""

from msgspec.structs import replace

from flexlet.api.cpuset import CpuSet
from flexlet.api.duration import Duration
from flexlet.api.quantity import Quantity
from flexlet.api.units import Microseconds
from flexlet.core.cgroups.settings import DEFAULTS, CgroupSettings
from flexlet.core.gates import Gates
from flexlet.core.kubeletconfig import reading, tls, uses
from flexlet.core.kubeletconfig.config import (
    API_VERSION,
    KIND,
    KubeletConfiguration,
    MemorySwap,
    ShutdownPeriod,
)
from flexlet.core.machine.allocatable import Reservation
from flexlet.core.managers.settings import ManagerSettings

EMPTY = KubeletConfiguration()


def test_an_empty_configuration_gives_everybodys_defaults() -> None:
    assert uses.reservation(EMPTY) == Reservation()
    assert uses.cgroup_settings(EMPTY) == DEFAULTS
    assert uses.gates(EMPTY) == Gates()
    assert uses.manager_settings(EMPTY) == ManagerSettings(reservation=Reservation())
    assert uses.shutdown_periods(EMPTY) == ()


def test_the_resource_managers_get_their_settings() -> None:
    config = reading.merge(
        EMPTY,
        {
            "cpuManagerPolicy": "static",
            "cpuManagerPolicyOptions": {"full-pcpus-only": "true", "strict-cpu-reservation": "false"},
            "cpuManagerReconcilePeriod": "5s",
            "memoryManagerPolicy": "Static",
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
            "topologyManagerPolicy": "restricted",
            "topologyManagerScope": "pod",
            "topologyManagerPolicyOptions": {
                "prefer-closest-numa-nodes": "true",
                "max-allowable-numa-nodes": "16",
            },
            "kubeReserved": {"cpu": "200m"},
            "systemReserved": {"cpu": "1"},
        },
    )
    expected = ManagerSettings(
        cpu_policy="static",
        cpu_options=frozenset({"full-pcpus-only"}),
        reserved_milli=1200,
        memory_policy="Static",
        reserved_memory={0: {"memory": 1 << 30}},
        reservation=uses.reservation(config),
        topology_policy="restricted",
        topology_scope="pod",
        prefer_closest=True,
        max_numa_nodes=16,
        reconcile_s=5.0,
    )
    assert uses.manager_settings(config) == expected
    named = reading.merge(config, {"reservedSystemCPUs": "0,4"})
    reserved = {"reserved_cpus": CpuSet.of([0, 4]), "reserved_milli": 2000, "reservation": uses.reservation(named)}
    assert uses.manager_settings(named) == replace(expected, **reserved)


def test_named_cpus_replace_reserved_amounts_of_cpu() -> None:
    """As upstream: the system has them all, whatever kubeReserved says."""
    config = KubeletConfiguration(
        system_reserved={"cpu": "1", "memory": "1Gi"},
        kube_reserved={"cpu": "2", "pid": "100"},
        reserved_system_cpus="0-2,8",
        eviction_hard={},
    )
    assert uses.reservation(config) == Reservation(
        kube={"pid": Quantity.parse("100")},
        system={"cpu": Quantity.parse("4"), "memory": Quantity.parse("1Gi")},
        eviction_hard={},
    )


def test_cgroup_values_follow_the_configuration() -> None:
    config = KubeletConfiguration(
        cpu_cfs_quota=False,
        cpu_cfs_quota_period=Duration(0.005),
        pod_pids_limit=100,
        single_process_oom_kill=True,
        memory_swap=MemorySwap(swap_behavior="LimitedSwap"),
        feature_gates={"MemoryQoS": True},
        memory_reservation_policy="TieredReservation",
        memory_throttling_factor=0.5,
    )
    assert uses.cgroup_settings(config) == CgroupSettings(
        cpu_cfs_quota=False,
        cpu_cfs_quota_period=Microseconds(5000),
        pod_pids_limit=100,
        single_process_oom_kill=True,
        memory_swap_behavior="LimitedSwap",
        memory_qos=True,
        memory_reservation_policy="TieredReservation",
        memory_throttling_factor=0.5,
    )


def test_the_short_form_of_shutdown_periods_is_the_list_with_two_entries() -> None:
    config = KubeletConfiguration(
        shutdown_grace_period=Duration(30), shutdown_grace_period_critical_pods=Duration(10)
    )
    assert uses.shutdown_periods(config) == (
        ShutdownPeriod(priority=0, shutdown_grace_period_seconds=20),
        ShutdownPeriod(priority=2_000_000_000, shutdown_grace_period_seconds=10),
    )
    listed = (ShutdownPeriod(priority=5, shutdown_grace_period_seconds=7),)
    assert uses.shutdown_periods(KubeletConfiguration(shutdown_grace_period_by_pod_priority=listed)) == listed


def test_configz_shows_what_is_in_force_and_can_be_used_again() -> None:
    """Defaults are filled in, empty fields left out, durations as Go prints them."""
    shown = uses.to_configz(KubeletConfiguration(static_pod_path="/etc/pods"))["kubeletconfig"]
    assert {name: shown.get(name) for name in ("staticPodPath", "nodeStatusReportFrequency", "maxPods")} == {
        "staticPodPath": "/etc/pods",
        "nodeStatusReportFrequency": "5m0s",
        "maxPods": 110,
    }
    assert shown["authentication"] == {
        "x509": {},
        "webhook": {"enabled": True, "cacheTTL": "2m0s"},
        "anonymous": {"enabled": False},
    }
    assert shown["memorySwap"] == {}
    left_out = {"rotateCertificates", "podsPerCore", "clusterDNS", "systemReserved", "maxParallelImagePulls"}
    assert left_out & set(shown) == set()
    again = reading.read({"apiVersion": API_VERSION, "kind": KIND, **shown}, "f")
    assert again == KubeletConfiguration(static_pod_path="/etc/pods")


def test_cipher_suites_are_given_openssls_names() -> None:
    suites = ["TLS_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_256_CBC_SHA"]
    assert tls.openssl_ciphers(suites) == "ECDHE-RSA-AES128-GCM-SHA256:AES256-SHA"
    assert tls.openssl_ciphers([]) == ""
