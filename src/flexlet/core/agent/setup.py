"""What a decision about a pod depends on besides the pod: the node, as one frozen value."""

from typing import Final

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.api.units import Bytes
from flexlet.core.cgroups.paths import CGROUPFS
from flexlet.core.cgroups.settings import DEFAULTS, CgroupSettings, Host
from flexlet.core.gates import Gates
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.resize.allocation import DEFAULT_GATES
from flexlet.core.runtime.shown import RuntimeHandler

ROOT: Final = "/var/lib/kubelet"
POD_LOGS: Final = "/var/log/pods"


class ServicePort(msgspec.Struct, frozen=True, kw_only=True):
    """A port of a service."""

    port: int
    name: str = ""
    protocol: str = "TCP"


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """A service that has an address of its own."""

    namespace: str
    name: str
    cluster_ip: str
    ports: tuple[ServicePort, ...] = ()


class NodeSetup(msgspec.Struct, frozen=True, kw_only=True):
    """The node's name, machine, configuration and present state."""

    name: str
    ips: tuple[str, ...] = ()
    allocatable: ResourceList = {}
    ceiling: ResourceList = {}
    """What allocatable is at most while an unplug is being prepared; it is so already."""
    host: Host = Host(memory=Bytes(0))
    cgroups: CgroupSettings = DEFAULTS
    gates: Gates = DEFAULT_GATES
    machine: Machine = Machine()
    managers: ManagerSettings = ManagerSettings()
    driver: str = CGROUPFS
    root: str = ROOT
    pod_logs: str = POD_LOGS
    runtime_name: str = "containerd"
    """The prefix of container ids in the API."""
    runtime_ready: bool = True
    network_ready: bool = True
    network_message: str = ""
    handlers: tuple[RuntimeHandler, ...] = ()
    started_at: float = 0.0
    """When the agent started: older containers keep their readiness until probed."""

    cluster_domain: str = ""
    cluster_dns: tuple[str, ...] = ()
    resolv_conf: str = ""
    """The text of the host's resolv.conf."""
    hosts_file: str = ""
    """The text of the host's /etc/hosts."""
    services: tuple[Service, ...] = ()
    """For the variables that tell containers where services are."""
    seccomp_default: bool = False
    max_restart_period_s: float = 300.0
    max_pods: int = 110
    thermal_throttle_paths: tuple[str, ...] = ()
    unsafe_sysctls: tuple[str, ...] = ()
    """Kernel parameters that pods may set beside the safe ones; patterns end in a star."""
    apparmor: bool = True
    """Whether the kernel enforces AppArmor profiles."""
    strict_groups: bool = True
    """Whether the runtime can leave the groups of the image out (supplementalGroupsPolicy Strict)."""
