"""What the operator decides about a node, apart from what the machine is."""

from typing import Final

import msgspec

from flexlet.api.node import Taint
from flexlet.core.gates import Gates
from flexlet.core.machine.allocatable import Reservation
from flexlet.core.machine.capacity import DEFAULT_MAX_PODS

KUBELET_VERSION: Final = "v1.36.3"
"""The release whose behaviour flexlet follows; clusters judge version skew by it."""

_DECLARABLE: Final = (
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
)


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of KubeletConfiguration, and of its flags, that the Node object depends on."""

    name: str
    hostname: str = ""
    """As the machine calls itself; empty if that is the node's name."""
    register: bool = True
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    provider_id: str = ""
    external_cloud: bool = False
    node_ips: tuple[str, ...] = ()
    """The addresses that were asked for, for an external cloud provider to confirm."""
    attach_by_controller: bool = True
    port: int = 10250
    max_pods: int = DEFAULT_MAX_PODS
    pods_per_core: int = 0
    reservation: Reservation = Reservation()
    storage_is_counted: bool = True
    """``localStorageCapacityIsolation``."""
    max_images: int = 50
    """-1: all."""
    declared_features: tuple[str, ...] = ()
    version: str = KUBELET_VERSION
    agent: str = ""
    """Which flexlet runs the node, said in an annotation; balloons are treated otherwise by other agents."""
    compute_s: float = 10.0
    """``nodeStatusUpdateFrequency``."""
    report_s: float = 300.0
    """``nodeStatusReportFrequency``."""
    lease_s: int = 40
    """``nodeLeaseDurationSeconds``; renewed after a quarter of it."""


def declared_features(gates: Gates) -> tuple[str, ...]:
    """What the scheduler and the API server may count on, by feature gate.

    Not among them is ExtendWebSocketsToKubelet: streams are handed through as they come.
    """
    if not gates.enabled.get("NodeDeclaredFeatures"):
        return ()
    return tuple(name for name in _DECLARABLE if gates.enabled.get(name))
