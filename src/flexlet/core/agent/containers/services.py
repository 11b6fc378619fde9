"""Variables that tell a container where services are.

Every pod learns of ``default/kubernetes``; those of its own namespace only while it wants service links, which is
the default. Of two services of one name the pod's own namespace wins. The names are those of Docker's links.
"""

from collections.abc import Iterator

from flexlet.api.nodepod import NodePod
from flexlet.core.agent.setup import NodeSetup, Service

_MASTER = ("default", "kubernetes")


def variables(pod: NodePod, setup: NodeSetup) -> dict[str, str]:
    """By name."""
    namespace = pod.metadata.namespace
    known = [each for each in setup.services if each.ports and each.cluster_ip not in {"", "None"}]
    chosen = {each.name: each for each in known if (each.namespace, each.name) == _MASTER}
    if pod.spec.enable_service_links is not False:
        chosen |= {each.name: each for each in known if each.namespace == namespace}
    return {name: value for each in sorted(chosen) for name, value in _of(chosen[each])}


def _of(service: Service) -> Iterator[tuple[str, str]]:
    name = _name(service.name)
    address = f"[{service.cluster_ip}]" if ":" in service.cluster_ip else service.cluster_ip
    yield f"{name}_SERVICE_HOST", service.cluster_ip
    yield f"{name}_SERVICE_PORT", str(service.ports[0].port)
    for port in service.ports:
        if port.name:
            yield f"{name}_SERVICE_PORT_{_name(port.name)}", str(port.port)
    for index, port in enumerate(service.ports):
        protocol = port.protocol or "TCP"
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
