"""What a pod can be told about itself: fields, labels, amounts.

A limit that a container does not have is the pod's, else the node's; huge pages are never overcommitted, so theirs
is what the container has. Upstream applies the pod's limit only to variables and the node's only to containers
that are not init ones; flexlet answers every question the same way.
"""

import re
from typing import Final

from flexlet.api import gotext
from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod.volumes import ObjectFieldSelector, ResourceFieldSelector
from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.resources.names import CPU, EPHEMERAL_STORAGE, MEMORY, is_hugepages

_ONE: Final = Quantity.of_milli(1000)
_OVERCOMMITTED: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})
_SUBSCRIPTED: Final = re.compile(r"(.+?)\['(.*)'\]", re.DOTALL)


def field(pod: NodePod, selector: ObjectFieldSelector, setup: NodeSetup, ips: tuple[str, ...]) -> str | Problem:
    """The text of a field of the pod."""
    path = selector.field_path
    if (found := _SUBSCRIPTED.fullmatch(path)) is not None:
        return _entry(pod, found[1], found[2], path)
    own = setup.ips if pod.spec.host_network else ips
    plain = {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.metadata.uid,
        "spec.nodeName": pod.spec.node_name or setup.name,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.hostIP": ",".join(setup.ips[:1]),
        "status.hostIPs": ",".join(setup.ips),
        "status.podIP": ",".join(own[:1]),
        "status.podIPs": ",".join(own),
    }
    if path in plain:
        return plain[path]
    maps = {"metadata.labels": pod.metadata.labels, "metadata.annotations": pod.metadata.annotations}
    return lines(maps[path]) if path in maps else Problem(f"unsupported fieldPath: {path}")


def lines(values: dict[str, str]) -> str:
    """Labels or annotations as a file shows them."""
    return "\n".join(f"{key}={gotext.quote(values[key])}" for key in sorted(values))


def _entry(pod: NodePod, name: str, key: str, path: str) -> str | Problem:
    match name:
        case "metadata.labels":
            return pod.metadata.labels.get(key, "")
        case "metadata.annotations":
            return pod.metadata.annotations.get(key, "")
        case _:
            return Problem(f'fieldPath "{path}" does not support subscript')


def amount_by_name(pod: NodePod, selector: ResourceFieldSelector, setup: NodeSetup) -> str | Problem:
    """An amount of the container that the selector names."""
    for each in (*pod.spec.containers, *pod.spec.init_containers):
        if each.name == selector.container_name:
            return amount(pod, each, selector, setup)
    return Problem(f"container {selector.container_name} not found")


def amount(
    pod: NodePod, container: NodeContainer, selector: ResourceFieldSelector, setup: NodeSetup
) -> str | Problem:
    """An amount of a container in units of the divisor, rounded up."""
    kind, _, name = selector.resource.partition(".")
    if kind not in {"limits", "requests"} or not (name in _OVERCOMMITTED or is_hugepages(name)):
        return Problem(f"unsupported container resource : {selector.resource}")
    limited = kind == "limits"
    found = _limit(pod, container, name, setup) if limited else container.resources.requests.get(name, ZERO)
    divisor = selector.divisor or _ONE
    if name == CPU:
        return str(-(-found.milli // divisor.milli))
    return str(-(-found.value // divisor.value))


def _limit(pod: NodePod, container: NodeContainer, name: str, setup: NodeSetup) -> Quantity:
    own = container.resources.limits
    if name not in _OVERCOMMITTED:
        return own.get(name, ZERO)
    level = pod.spec.resources.limits if pod.spec.resources is not None else {}
    return next((found for each in (own, level, setup.allocatable) if (found := each.get(name))), ZERO)
