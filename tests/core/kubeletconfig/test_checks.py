"""Upstream's rules, one configuration that breaks each."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from flexlet.core.kubeletconfig import reading
from flexlet.core.kubeletconfig.config import API_VERSION, KIND
from flexlet.errors import ConfigError

INFINITE = 2**31 - 1
RESIZE = "InPlacePodLevelResourcesVerticalScaling"
ENFORCED = "pods, system-reserved, system-reserved-compressible, kube-reserved, kube-reserved-compressible, none"
QOS = "pods are always kept in the cgroups of their QoS class; remove it"
MANAGERS = Path(__file__).with_name("managers.yaml")


def broken(fields: dict[str, Any]) -> list[str]:
    try:
        reading.read({"apiVersion": API_VERSION, "kind": KIND, **fields}, "f")
    except ConfigError as error:
        return [line.removeprefix("f: ") for line in str(error).splitlines()]
    return []


@pytest.mark.parametrize(
    ("fields", "complaints"),
    [
        (
            {"nodeLeaseDurationSeconds": -1},
            ["nodeLeaseDurationSeconds: -1 is out of range; it must be at least 1"],
        ),
        ({"healthzPort": 65536}, ["healthzPort: 65536 is out of range; it must be between 0 and 65535"]),
        ({"oomScoreAdj": -1001}, ["oomScoreAdj: -1001 is out of range; it must be between -1000 and 1000"]),
        ({"nodeStatusMaxImages": -2}, ["nodeStatusMaxImages: -2 is out of range; it must be at least -1"]),
        ({"maxParallelImagePulls": 0}, ["maxParallelImagePulls: 0 is out of range; it must be at least 1"]),
        ({"containerLogMaxFiles": 1}, ["containerLogMaxFiles: 1 is out of range; it must be at least 2"]),
        ({"maxPods": INFINITE + 1}, [f"maxPods: Expected `int` <= {INFINITE}"]),
        ({"cpuCFSQuotaPeriod": "2s"}, ["cpuCFSQuotaPeriod: 2s is out of range; it must be 1ms to 1s"]),
        (
            {"containerLogMonitorInterval": "2s"},
            ["containerLogMonitorInterval: 2s is out of range; it must be at least 3s"],
        ),
        (
            {"crashLoopBackOff": {"maxContainerRestartPeriod": "6m"}},
            ["crashLoopBackOff.maxContainerRestartPeriod: 6m0s is out of range; it must be 1s to 5m0s"],
        ),
        (
            {"imageGCLowThresholdPercent": 85},
            ["imageGCLowThresholdPercent: 85 must be less than imageGCHighThresholdPercent 85"],
        ),
        ({"imageMaximumGCAge": "2m"}, ["imageMaximumGCAge: 2m0s must be greater than imageMinimumGCAge 2m0s"]),
        (
            {"serializeImagePulls": True, "maxParallelImagePulls": 2},
            ["maxParallelImagePulls: more than 1 needs serializeImagePulls false"],
        ),
        ({"topologyManagerScope": "node"}, ["topologyManagerScope: 'node' is none of container, pod"]),
        ({"cgroupDriver": "cgroups"}, ["cgroupDriver: 'cgroups' is none of cgroupfs, systemd"]),
        ({"authorization": {"mode": "RBAC"}}, ["authorization.mode: 'RBAC' is none of AlwaysAllow, Webhook"]),
        (
            {"memorySwap": {"swapBehavior": "UnlimitedSwap"}},
            ["memorySwap.swapBehavior: 'UnlimitedSwap' is none of NoSwap, LimitedSwap"],
        ),
        ({"cgroupsPerQOS": False}, [f"cgroupsPerQOS: false is not supported: {QOS}"]),
        (
            {"shutdownGracePeriod": "500ms", "shutdownGracePeriodCriticalPods": "1s"},
            [
                "shutdownGracePeriod: 500ms must be 0s or at least 1s",
                "shutdownGracePeriodCriticalPods: 1s must not exceed shutdownGracePeriod 500ms",
            ],
        ),
        (
            {
                "shutdownGracePeriod": "10s",
                "shutdownGracePeriodByPodPriority": [{"priority": 0, "shutdownGracePeriodSeconds": 5}],
            },
            ["shutdownGracePeriodByPodPriority: set either this or shutdownGracePeriod, not both"],
        ),
        (
            {"registerWithTaints": [{"key": "a", "effect": "Never", "timeAdded": "2026-01-01T00:00:00Z"}]},
            [
                "registerWithTaints[0].effect: 'Never' is none of NoSchedule, PreferNoSchedule, NoExecute",
                "registerWithTaints[0].timeAdded: the server sets it; remove it",
            ],
        ),
        (
            {"clusterDNS": ["10.0.0.10", "dns"], "podCIDR": "10.0.0.0/8,x"},
            [
                "clusterDNS[1]: 'dns' must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
                "podCIDR: 'x' must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            ],
        ),
        ({"podLogsDir": "/var//log"}, ["podLogsDir: '/var//log' must be an absolute, normal path in ASCII"]),
        ({"podLogsDir": "log"}, ["podLogsDir: 'log' must be an absolute, normal path in ASCII"]),
        ({"containerLogMaxSize": "-1"}, ["containerLogMaxSize: -1 must not be negative"]),
        (
            {"tlsCertFile": "/c"},
            ["tlsPrivateKeyFile: a certificate needs its key: set both tlsCertFile and tlsPrivateKeyFile"],
        ),
        ({"memoryThrottlingFactor": 0}, ["memoryThrottlingFactor: 0.0 must be above 0 and at most 1.0"]),
        (
            {"memoryReservationPolicy": "TieredReservation"},
            ["memoryReservationPolicy: TieredReservation needs the feature gate MemoryQoS"],
        ),
        ({"memoryReservationPolicy": "TieredReservation", "featureGates": {"MemoryQoS": True}}, []),
        (
            {"featureGates": {"PodLevelResources": False}},
            [
                f"featureGates.{RESIZE}: it needs PodLevelResources; switch that on, or this off",
            ],
        ),
        (
            {"featureGates": {"PodLevelResources": False, "InPlacePodLevelResourcesVerticalScaling": False}},
            [],
        ),
        (
            {"tlsMinVersion": "VersionTLS10"},
            ["tlsMinVersion: 'VersionTLS10' is none of VersionTLS12, VersionTLS13"],
        ),
        (
            {"tlsCipherSuites": ["TLS_AES_128_GCM_SHA256", "TLS_RSA_WITH_RC4_128_SHA"]},
            ["tlsCipherSuites[1]: 'TLS_RSA_WITH_RC4_128_SHA' is unknown or broken; remove it"],
        ),
    ],
)
def test_each_rule_is_held(fields: dict[str, Any], complaints: list[str]) -> None:
    assert broken(fields) == complaints


@pytest.mark.parametrize(
    ("fields", "complaints"),
    [
        (
            {"systemReserved": {"gpu": "1"}},
            ["systemReserved.gpu: only cpu, memory, ephemeral-storage, pid can be reserved"],
        ),
        ({"kubeReserved": {"cpu": "-1"}}, ["kubeReserved.cpu: -1 must not be negative"]),
        ({"kubeReserved": {"cpu": 1}}, ["kubeReserved[...]: Expected `str`, got `int`"]),
        ({"enforceNodeAllocatable": ["none"]}, []),
        (
            {"enforceNodeAllocatable": ["none", "pods", "pods", "all"]},
            [
                f"enforceNodeAllocatable: 'all' is none of {ENFORCED}",
                "enforceNodeAllocatable: none excludes all others",
                "enforceNodeAllocatable: pods is there twice",
            ],
        ),
        (
            {"enforceNodeAllocatable": ["kube-reserved", "kube-reserved-compressible"]},
            [
                "enforceNodeAllocatable: set either kube-reserved or kube-reserved-compressible, not both",
                "kubeReservedCgroup: name the cgroup in which enforceNodeAllocatable enforces kube-reserved",
            ],
        ),
        ({"enforceNodeAllocatable": ["system-reserved"], "systemReservedCgroup": "/system.slice"}, []),
        (
            {"reservedSystemCPUs": "0-a", "kubeReservedCgroup": "/kube"},
            [
                "reservedSystemCPUs: cannot read '0-a' in CPU list '0-a': expected N or N-M",
                "reservedSystemCPUs: it cannot be used with systemReservedCgroup or kubeReservedCgroup",
            ],
        ),
        (
            {
                "reservedMemory": [
                    {"numaNode": 0, "limits": {"memory": "1Gi", "cpu": "1"}},
                    {"numaNode": 0, "limits": {"memory": "0"}},
                ]
            },
            [
                "reservedMemory: it has a meaning with memoryManagerPolicy Static only; remove it",
                "reservedMemory[0].limits.cpu: only memory and hugepages-<size> can be reserved on a NUMA node",
                "reservedMemory[1].limits.memory: NUMA node 0 has it already",
                "reservedMemory[1].limits.memory: it must not be zero",
            ],
        ),
    ],
)
def test_reservations_obey_their_rules(fields: dict[str, Any], complaints: list[str]) -> None:
    assert broken(fields) == complaints


@pytest.mark.parametrize("case", yaml.safe_load(MANAGERS.read_text()), ids=lambda case: case["about"])
def test_the_resource_managers_obey_their_rules(case: dict[str, Any]) -> None:
    assert broken(case["fields"]) == case["complaints"]
