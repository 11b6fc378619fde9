"""The pod itself: spec with containers and volumes, status with all that must be carried over."""

from typing import Any

import msgspec

from flexlet.api.meta import KubeStruct
from flexlet.api.nodepod.container import NodeContainer
from flexlet.api.nodepod.security import PodSecurityContext
from flexlet.api.nodepod.volumes import Volume
from flexlet.api.pod import ContainerStatus, Pod, PodSpec, PodStatus


class HostAlias(KubeStruct, frozen=True, kw_only=True):
    """A line for the pod's /etc/hosts."""

    ip: str = ""
    hostnames: tuple[str, ...] = ()


class DnsOption(KubeStruct, frozen=True, kw_only=True):
    """A resolver option."""

    name: str = ""
    value: str | None = None


class DnsConfig(KubeStruct, frozen=True, kw_only=True):
    """What the pod adds to its resolv.conf."""

    nameservers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[DnsOption, ...] = ()


class ReadinessGate(KubeStruct, frozen=True, kw_only=True):
    """A condition set by someone else that the pod's readiness waits for."""

    condition_type: str = ""


class LocalReference(KubeStruct, frozen=True, kw_only=True):
    """An object of the same namespace."""

    name: str = ""


class Named(KubeStruct, frozen=True, kw_only=True):
    """Something that only its name matters of."""

    name: str = ""


class NodePodSpec(PodSpec, frozen=True, kw_only=True):
    """What the client asked for, all of it that the node acts on."""

    containers: tuple[NodeContainer, ...] = ()
    init_containers: tuple[NodeContainer, ...] = ()
    ephemeral_containers: tuple[NodeContainer, ...] = ()
    volumes: tuple[Volume, ...] = ()
    security_context: PodSecurityContext = PodSecurityContext()
    dns_policy: str = "ClusterFirst"
    dns_config: DnsConfig = DnsConfig()
    host_aliases: tuple[HostAlias, ...] = ()
    hostname: str = ""
    hostname_override: str | None = None
    subdomain: str = ""
    set_hostname_as_fqdn: bool | None = msgspec.field(default=None, name="setHostnameAsFQDN")
    host_pid: bool = msgspec.field(default=False, name="hostPID")
    host_ipc: bool = msgspec.field(default=False, name="hostIPC")
    host_users: bool | None = None
    share_process_namespace: bool | None = None
    image_pull_secrets: tuple[LocalReference, ...] = ()
    service_account_name: str = ""
    enable_service_links: bool | None = None
    readiness_gates: tuple[ReadinessGate, ...] = ()
    runtime_class_name: str | None = None
    os: Named | None = None
    resource_claims: tuple[dict[str, Any], ...] = ()


class NodeContainerStatus(ContainerStatus, frozen=True, kw_only=True):
    """A container's last reported status, with what a restarted agent must carry over."""

    image: str = ""
    image_id: str = msgspec.field(default="", name="imageID")
    container_id: str = msgspec.field(default="", name="containerID")
    user: dict[str, Any] | None = None
    stop_signal: str = ""


class HostIp(KubeStruct, frozen=True, kw_only=True):
    """An address in a list of addresses."""

    ip: str = ""


class NodePodStatus(PodStatus, frozen=True, kw_only=True):
    """The last reported status."""

    container_statuses: tuple[NodeContainerStatus, ...] = ()
    init_container_statuses: tuple[NodeContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[NodeContainerStatus, ...] = ()
    pod_ips: tuple[HostIp, ...] = msgspec.field(default=(), name="podIPs")
    host_ip: str = msgspec.field(default="", name="hostIP")


class NodePod(Pod, frozen=True, kw_only=True):
    """A pod as the node that runs it reads it."""

    spec: NodePodSpec = NodePodSpec()
    status: NodePodStatus = NodePodStatus()
