"""Whether a node has room for a new size.

flexlet asks only about the resources that grow, so that a decrease is granted also on an overcommitted node
(upstream compares the whole new size and may defer it). A wish larger than the node itself is Infeasible; servers
from 1.36 on refuse it before the node sees it.

Must stay true: no grant raises the sum of allocations of a resource above allocatable.
"""

from collections.abc import Mapping
from typing import Final

from flexlet.api.pod import Pod, ResourceList
from flexlet.api.quantity import ZERO
from flexlet.core.gates import Gates
from flexlet.core.resize.allocation import DEFAULT_GATES, Allocation, applied
from flexlet.core.resize.verdict import Deferred, Granted, Infeasible
from flexlet.core.resources import effective, fit
from flexlet.core.resources.names import COMPUTE

NODE_CAPACITY: Final = "node_capacity"


def ask(
    pod: Pod, allocation: Allocation, used_by_others: Mapping[str, int], allocatable: ResourceList
) -> Granted | Deferred | Infeasible:
    """The answer for a running pod's wish, given what its neighbours hold."""
    short = shortages(pod, allocation, used_by_others, allocatable)
    return refusal(short) if short else Granted()


def shortages(
    pod: Pod,
    allocation: Allocation,
    used_by_others: Mapping[str, int],
    allocatable: ResourceList,
    gates: Gates = DEFAULT_GATES,
) -> list[fit.Shortage]:
    """What is missing of the resources that grow."""
    wanted = effective.pod_requests(pod)
    held = effective.pod_requests(applied(pod, allocation, gates))
    growing = {name: wanted[name] for name in COMPUTE if name in wanted and wanted[name] > held.get(name, ZERO)}
    return [short for short in fit.shortages(growing, allocatable, used_by_others) if short.resource in growing]


def refusal(short: list[fit.Shortage]) -> Deferred | Infeasible:
    """The answer to a wish that lacks room; one that can never be met is named first."""
    permanent = next((shortage for shortage in short if shortage.is_permanent), None)
    if permanent is not None:
        return Infeasible(NODE_CAPACITY, out_of(permanent))
    return Deferred(f"OutOf{short[0].resource}", out_of(short[0]))


def increases(wanted: ResourceList, held: ResourceList) -> bool:
    """Whether cpu or memory goes up; one going down does not make up for the other."""
    return any(wanted.get(name, ZERO) > held.get(name, ZERO) for name in COMPUTE)


def out_of(shortage: fit.Shortage) -> str:
    """The sentence the kubelet uses, cpu in thousandths."""
    return (
        f"Node didn't have enough resource: {shortage.resource}, requested: {shortage.requested}, "
        f"used: {shortage.used}, capacity: {shortage.capacity}"
    )
