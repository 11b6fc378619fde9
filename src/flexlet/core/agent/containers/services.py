"""Variables that tell a container where services are.

Every pod learns of ``default/kubernetes``; those of its own namespace only while it wants service links, which is
the default. The names are those of Docker's links.
"""

from collections.abc import Iterator

from flexlet.api.nodepod import NodePod
from flexlet.core.agent.setup import NodeSetup, Service

_MASTER = ("default", "kubernetes")


def variables(pod: NodePod, setup: NodeSetup) -> dict[str, str]:
    """By name; a service of the pod's own namespace wins over the master's."""
    links = pod.spec.enable_service_links is not False
    found: dict[str, str] = {}
    for each in sorted(setup.services, key=lambda service: service.namespace == pod.metadata.namespace):
        is_master = (each.namespace, each.name) == _MASTER
        if is_master or (links and each.namespace == pod.metadata.namespace):
            found.update(_of(each))
    return found


def _of(service: Service) -> Iterator[tuple[str, str]]:
    if not service.ports or service.cluster_ip in {"", "None"}:
        return
    name = _name(service.name)
    yield f"{name}_SERVICE_HOST", service.cluster_ip
    yield f"{name}_SERVICE_PORT", str(service.ports[0].port)
    for port in service.ports:
        if port.name:
            yield f"{name}_SERVICE_PORT_{_name(port.name)}", str(port.port)
    for index, port in enumerate(service.ports):
        protocol = port.protocol or "TCP"
        address = service.cluster_ip if ":" not in service.cluster_ip else f"[{service.cluster_ip}]"
        url = f"{protocol.lower()}://{address}:{port.port}"
        if index == 0:
            yield f"{name}_PORT", url
        prefix = f"{name}_PORT_{port.port}_{protocol.upper()}"
        yield prefix, url
        yield f"{prefix}_PROTO", protocol.lower()
        yield f"{prefix}_PORT", str(port.port)
        yield f"{prefix}_ADDR", service.cluster_ip


def _name(text: str) -> str:
    return text.replace("-", "_").upper()
