"""Whether a node grants a new size.

A refusal is a value: Deferred waits and is asked again, Infeasible is final until the wish changes. flexlet grants
every resize that asks for no more than is allocated already, also on an overcommitted node (upstream may defer
those), and it answers Infeasible to a wish larger than the node itself, should an older API server let it through.
"""

from collections.abc import Mapping

import msgspec

from flexlet.api.pod import Pod, ResourceList
from flexlet.core.resize.allocation import Allocation, applied
from flexlet.core.resources import effective, fit


class Granted(msgspec.Struct, frozen=True, tag=True):
    """The new size is the node's from now on."""


class Deferred(msgspec.Struct, frozen=True, tag=True):
    """Not now; `detail` is the handler's one word (OutOfcpu)."""

    detail: str
    message: str


class Infeasible(msgspec.Struct, frozen=True, tag=True):
    """Never on this node; `detail` labels the metric."""

    detail: str
    message: str


Verdict = Granted | Deferred | Infeasible


def admit(
    pod: Pod, allocation: Allocation, used_by_others: Mapping[str, int], allocatable: ResourceList
) -> Verdict:
    """The answer for a running pod's wish, given what its neighbours hold."""
    wanted = effective.pod_requests(pod)
    if not increases(wanted, effective.pod_requests(applied(pod, allocation))):
        return Granted()
    short = [s for s in fit.shortages(wanted, allocatable, used_by_others) if s.resource in {"cpu", "memory"}]
    if not short:
        return Granted()
    if short[0].is_permanent:
        return Infeasible("node_capacity", out_of(short[0]))
    return Deferred(f"OutOf{short[0].resource}", out_of(short[0]))


def increases(wanted: ResourceList, held: ResourceList) -> bool:
    """Whether cpu or memory goes up; one going down does not make up for the other."""
    return any(wanted[name] > held[name] if name in held else bool(wanted[name]) for name in wanted)


def out_of(shortage: fit.Shortage) -> str:
    """The sentence the kubelet uses, cpu in thousandths."""
    return (
        f"Node didn't have enough resource: {shortage.resource}, requested: {shortage.requested}, "
        f"used: {shortage.used}, capacity: {shortage.capacity}"
    )
