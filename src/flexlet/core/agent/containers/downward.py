"""What a pod can be told about itself: fields, labels, amounts."""

from typing import Final

from flexlet.api import gotext
from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.volumes import ObjectFieldSelector, ResourceFieldSelector
from flexlet.api.pod import ResourceList
from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.resources.names import CPU

_ONE: Final = Quantity.of_milli(1000)


def field(pod: NodePod, selector: ObjectFieldSelector, setup: NodeSetup, ips: tuple[str, ...]) -> str | Problem:
    """The text of a field of the pod."""
    path = selector.field_path
    name, bracket, subscript = path.partition("[")
    if bracket:
        return _entry(pod, name, subscript.rstrip("]").strip("'"), path)
    plain = {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.metadata.uid,
        "metadata.labels": lines(pod.metadata.labels),
        "metadata.annotations": lines(pod.metadata.annotations),
        "spec.nodeName": pod.spec.node_name or setup.name,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.hostIP": setup.ips[0] if setup.ips else "",
        "status.hostIPs": ",".join(setup.ips),
        "status.podIP": _own(pod, setup, ips)[0] if _own(pod, setup, ips) else "",
        "status.podIPs": ",".join(_own(pod, setup, ips)),
    }
    return plain[path] if path in plain else Problem(f"unsupported fieldPath: {path}")


def lines(values: dict[str, str]) -> str:
    """Labels or annotations as a file shows them."""
    return "\n".join(f"{key}={gotext.quote(values[key])}" for key in sorted(values))


def amount(
    pod: NodePod, container: NodeContainer, selector: ResourceFieldSelector, setup: NodeSetup
) -> str | Problem:
    """An amount of a container in units of the divisor, rounded up; a missing limit is the pod's or the node's."""
    kind, _, name = selector.resource.partition(".")
    if kind == "limits":
        level = pod.spec.resources.limits if pod.spec.resources is not None else {}
        found = _first(name, container.resources.limits, level, setup.allocatable)
    elif kind == "requests":
        found = container.resources.requests.get(name, ZERO)
    else:
        return Problem(f"unsupported container resource : {selector.resource}")
    divisor = selector.divisor or _ONE
    if name == CPU:
        return str(-(-found.milli // divisor.milli))
    return str(-(-found.value // divisor.value))


def _first(name: str, *lists: ResourceList) -> Quantity:
    return next((found for each in lists if (found := each.get(name))), ZERO)


def _own(pod: NodePod, setup: NodeSetup, ips: tuple[str, ...]) -> tuple[str, ...]:
    return setup.ips if pod.spec.host_network else ips


def _entry(pod: NodePod, name: str, key: str, path: str) -> str | Problem:
    match name:
        case "metadata.labels":
            return pod.metadata.labels.get(key, "")
        case "metadata.annotations":
            return pod.metadata.annotations.get(key, "")
        case _:
            return Problem(f"unsupported fieldPath: {path}")
