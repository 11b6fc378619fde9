"""Sandboxes: making, stopping and removing them, and how they look on the wire."""

from typing import Final

from flexlet.adapters.cri import resources as amounts
from flexlet.adapters.cri import security
from flexlet.adapters.cri._gen import cri_pb2 as pb
from flexlet.adapters.cri.calls import NOT_FOUND, Calls, is_unknown_method, required
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.runtime.configs import Dns, PortMapping, SandboxConfig
from flexlet.core.runtime.shown import NOT_READY, READY, Sandbox
from flexlet.errors import RuntimeFault

_MODES: Final = ("POD", "CONTAINER", "NODE", "TARGET")


class SandboxCalls:
    """`flexlet.ports.runtime.Sandboxes` over CRI."""

    _calls: Calls

    async def run_sandbox(self, config: SandboxConfig, handler: str = "") -> str:
        """Make and start a sandbox; it takes longer than other calls, for it may pull the pause image."""
        request = pb.RunPodSandboxRequest(config=sandbox_config(config), runtime_handler=handler)
        reply = await self._calls.ask_within(
            2 * self._calls.patience_s,
            "RunPodSandbox",
            request,
            pb.RunPodSandboxResponse,
            f"{config.namespace}/{config.name}",
        )
        return required(reply.pod_sandbox_id, "RunPodSandbox", "an id")

    async def stop_sandbox(self, sandbox_id: str) -> None:
        """Stop it and everything in it; one that is gone is stopped."""
        request = pb.StopPodSandboxRequest(pod_sandbox_id=sandbox_id)
        try:
            await self._calls.ask("StopPodSandbox", request, pb.StopPodSandboxResponse, sandbox_id)
        except RuntimeFault as fault:
            if fault.code != NOT_FOUND:
                raise

    async def remove_sandbox(self, sandbox_id: str) -> None:
        """Forget it; one that is gone is forgotten."""
        request = pb.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id)
        try:
            await self._calls.ask("RemovePodSandbox", request, pb.RemovePodSandboxResponse, sandbox_id)
        except RuntimeFault as fault:
            if fault.code != NOT_FOUND:
                raise

    async def update_sandbox(
        self, sandbox_id: str, resources: RuntimeResources, overhead: RuntimeResources | None
    ) -> None:
        """Tell the runtime the pod's resources, if it has an ear for that (containerd before 2.3 has not)."""
        request = pb.UpdatePodSandboxResourcesRequest(
            pod_sandbox_id=sandbox_id,
            overhead=None if overhead is None else amounts.created(overhead),
            resources=amounts.created(resources),
        )
        reply = pb.UpdatePodSandboxResourcesResponse
        try:
            await self._calls.ask("UpdatePodSandboxResources", request, reply, sandbox_id)
        except RuntimeFault as fault:
            if not is_unknown_method(fault):
                raise

    async def update_pod_cidr(self, cidr: str) -> None:
        """Tell the runtime where the node's pods get their addresses."""
        network = pb.NetworkConfig(pod_cidr=cidr)
        request = pb.UpdateRuntimeConfigRequest(runtime_config=pb.RuntimeConfig(network_config=network))
        await self._calls.ask("UpdateRuntimeConfig", request, pb.UpdateRuntimeConfigResponse, cidr)


def sandbox_config(config: SandboxConfig) -> pb.PodSandboxConfig:
    """A sandbox as the runtime is told about it, at its start and with each container."""
    return pb.PodSandboxConfig(
        metadata=pb.PodSandboxMetadata(
            name=config.name, uid=config.uid, namespace=config.namespace, attempt=config.attempt
        ),
        hostname=config.hostname,
        log_directory=config.log_directory,
        dns_config=None if config.dns is None else _dns(config.dns),
        port_mappings=[_port(each) for each in config.ports],
        labels=config.labels,
        annotations=config.annotations,
        linux=_linux(config),
    )


def sandbox_shown(status: pb.PodSandboxStatus) -> Sandbox:
    """A sandbox as the runtime shows it."""
    metadata, network = status.metadata, status.network
    ips = (network.ip, *(each.ip for each in network.additional_ips))
    return Sandbox(
        id=status.id,
        name=metadata.name,
        namespace=metadata.namespace,
        uid=metadata.uid,
        attempt=metadata.attempt,
        state=state(status.state),
        created_at=status.created_at,
        ips=tuple(ip for ip in ips if ip),
        has_network_status=status.HasField("network"),
        network=_MODES[status.linux.namespaces.options.network],
        labels=dict(status.labels),
        annotations=dict(status.annotations),
    )


def state(number: int) -> str:
    """Anything but ready is not ready."""
    return READY if number == pb.SANDBOX_READY else NOT_READY


def _linux(config: SandboxConfig) -> pb.LinuxPodSandboxConfig:
    return pb.LinuxPodSandboxConfig(
        cgroup_parent=config.cgroup_parent,
        security_context=security.of_sandbox(config.security),
        sysctls=config.sysctls,
        overhead=None if config.overhead is None else amounts.created(config.overhead),
        resources=None if config.resources is None else amounts.created(config.resources),
    )


def _dns(dns: Dns) -> pb.DNSConfig:
    return pb.DNSConfig(servers=dns.servers, searches=dns.searches, options=dns.options)


def _port(port: PortMapping) -> pb.PortMapping:
    return pb.PortMapping(
        protocol=port.protocol,
        container_port=port.container_port,
        host_port=port.host_port,
        host_ip=port.host_ip,
    )
