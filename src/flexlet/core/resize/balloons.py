"""Balloons make room when a node has too little, as far as they can, before anybody else has to.

A balloon is a pod that only keeps room away from others, so making it smaller harms nobody. Each of its containers
keeps a little (balloon.md §3.2): nothing at all would be another QoS class, which a resize must not bring about. A
limit that equals its request goes down with it, for the same reason.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from flexlet.api.pod import Container, Pod, ResourceList, ResourceRequirements
from flexlet.api.quantity import Quantity
from flexlet.api.units import MIB
from flexlet.core.resize.allocation import Allocation, of_spec
from flexlet.core.resources.amounts import as_integer, as_integers
from flexlet.core.resources.effective import pod_requests
from flexlet.core.resources.names import CPU, MEMORY

FLOOR: Final[dict[str, int]] = {CPU: 1, MEMORY: 16 * MIB}
"""What a container of a balloon keeps: thousandths of a CPU, bytes."""


def smallest(pod: Pod) -> ResourceList:
    """What the balloon holds when it has given everything it can."""
    return pod_requests(_shrunk(pod, {name: _spare(pod, name) for name in FLOOR}))


def filled(pods: Sequence[Pod], allocatable: ResourceList, used: Mapping[str, int]) -> dict[str, Allocation]:
    """The allocations of those that must be smaller, by uid.

    `used` is what everybody holds while all balloons are at their smallest; the first ones get what is left first.
    """
    room = {name: as_integers(allocatable).get(name, 0) - used.get(name, 0) for name in FLOOR}
    found = {}
    for pod in pods:
        gives = {}
        for name in FLOOR:
            spare = _effective(pod_requests(pod), name) - _effective(smallest(pod), name)
            keeps = min(spare, max(room[name], 0))
            room[name] -= keeps
            gives[name] = spare - keeps
        if any(gives.values()):
            found[pod.metadata.uid] = of_spec(_shrunk(pod, gives))
    return found


def _spare(pod: Pod, name: str) -> int:
    return sum(_spare_of(container, name) for container in pod.spec.containers)


def _spare_of(container: Container, name: str) -> int:
    return max(0, _effective(container.resources.requests, name) - FLOOR[name])


def _shrunk(pod: Pod, gives: Mapping[str, int]) -> Pod:
    """The balloon without what it gives, taken from one container after the other."""
    owed = dict(gives)
    containers = []
    for container in pod.spec.containers:
        resources = container.resources
        for name in FLOOR:
            paid = min(owed[name], _spare_of(container, name))
            owed[name] -= paid
            resources = _lowered(resources, name, paid)
        containers.append(msgspec.structs.replace(container, resources=resources))
    spec = msgspec.structs.replace(pod.spec, containers=tuple(containers))
    return msgspec.structs.replace(pod, spec=spec)


def _lowered(resources: ResourceRequirements, name: str, by: int) -> ResourceRequirements:
    if not by:
        return resources
    held = resources.requests[name]
    left = _amount(name, as_integer(name, held) - by)
    limits = resources.limits | ({name: left} if resources.limits.get(name) == held else {})
    return msgspec.structs.replace(resources, requests=resources.requests | {name: left}, limits=limits)


def _effective(amounts: ResourceList, name: str) -> int:
    return as_integer(name, amounts[name]) if name in amounts else 0


def _amount(name: str, count: int) -> Quantity:
    return Quantity.of_milli(count) if name == CPU else Quantity.of_bytes(count)
