"""A pod's sandbox: who it is, where its cgroup hangs, how it sees the network and its names.

Follows the kubelet of Kubernetes 1.36 (kuberuntime, dns, hostname rules).
"""

from collections.abc import Iterator

import msgspec

from flexlet.api import age
from flexlet.api.nodepod import NodeContainer, NodePod, NodePodSpec
from flexlet.api.units import PodUid
from flexlet.core.agent.containers import dns, names, security, sysctls
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.cgroups.paths import pod_path
from flexlet.core.cgroups.sandbox import overhead_resources, sandbox_resources
from flexlet.core.critical import SEEN_ANNOTATION, SOURCE_ANNOTATION
from flexlet.core.resize.allocation import applied
from flexlet.core.resources.qos import recorded_qos_class
from flexlet.core.runtime.configs import PortMapping, SandboxConfig

_HOSTNAME = 63
_FQDN = 64


def as_allocated(record: PodRecord, setup: NodeSetup) -> NodePod:
    """The pod as the node runs it: with the resources it was granted, and where and when it came from."""
    pod = record.pod
    if record.allocation is not None:
        granted = applied(pod, record.allocation, setup.gates)
        assert isinstance(granted, NodePod)  # noqa: S101 replacing fields keeps the type
        pod = granted
    origin = {SEEN_ANNOTATION: age.format_seconds(record.seen_at), SOURCE_ANNOTATION: record.source}
    meta = msgspec.structs.replace(pod.metadata, annotations={**origin, **pod.metadata.annotations})
    return msgspec.structs.replace(pod, metadata=meta)


def handler(pod: NodePod) -> str:
    """The runtime handler; RuntimeClasses other than the default are refused at the door."""
    del pod
    return ""


def sandbox_config(pod: NodePod, setup: NodeSetup, attempt: int) -> SandboxConfig | Problem:
    """Everything RunPodSandbox needs."""
    hostname = "" if pod.spec.host_network else host_name(pod, setup)
    if isinstance(hostname, Problem):
        return hostname
    meta = pod.metadata
    return SandboxConfig(
        name=meta.name,
        uid=meta.uid,
        namespace=meta.namespace,
        attempt=attempt,
        hostname=hostname,
        log_directory=names.log_directory(pod, setup),
        dns=dns.config(pod, setup),
        ports=_ports(pod.spec),
        labels={**meta.labels, **names.pod_labels(pod)},
        annotations=meta.annotations,
        cgroup_parent="/" + pod_path(recorded_qos_class(pod), PodUid(meta.uid), setup.driver),
        sysctls={sysctls.dotted(each.name): each.value for each in pod.spec.security_context.sysctls},
        security=security.of_sandbox(pod),
        resources=sandbox_resources(pod, setup.cgroups),
        overhead=overhead_resources(pod, setup.cgroups),
    )


def host_name(pod: NodePod, setup: NodeSetup) -> str | Problem:
    """The name inside the pod, with its domain if the pod wants that."""
    short, zone = short_name(pod), domain(pod, setup)
    if not pod.spec.set_hostname_as_fqdn or not zone:
        return short
    full = f"{short}.{zone}"
    if len(full) > _FQDN:
        return Problem(
            f"failed to construct FQDN from pod hostname and cluster domain, FQDN {full} is too long "
            f"({_FQDN} characters is the max, {len(full)} characters requested)"
        )
    return full


def short_name(pod: NodePod) -> str:
    """The host name: overridden, given, or the pod's own, cut to what a host name may be."""
    spec = pod.spec
    wanted = spec.hostname_override or spec.hostname or pod.metadata.name
    return wanted if len(wanted) <= _HOSTNAME else wanted[:_HOSTNAME].rstrip("-.")


def domain(pod: NodePod, setup: NodeSetup) -> str:
    """What follows the host name, empty without a subdomain and after one that is overridden."""
    spec = pod.spec
    if not spec.subdomain or spec.hostname_override:
        return ""
    return f"{spec.subdomain}.{pod.metadata.namespace}.svc.{setup.cluster_domain}"


def _ports(spec: NodePodSpec) -> tuple[PortMapping, ...]:
    """Those of sidecars too, which upstream's node leaves out; a name or place given twice counts once."""
    sidecars = (each for each in spec.init_containers if each.is_sidecar)
    return tuple(each for container in (*spec.containers, *sidecars) for each in _ports_of(container))


def _ports_of(container: NodeContainer) -> Iterator[PortMapping]:
    seen: set[object] = set()
    for port in container.ports:
        mapping = PortMapping(
            container_port=port.container_port,
            host_port=port.host_port,
            protocol=port.protocol or "TCP",
            host_ip=port.host_ip,
        )
        if (key := port.name or mapping) not in seen:
            seen.add(key)
            yield mapping
