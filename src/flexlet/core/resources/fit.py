"""Whether a pod's requests fit into what a node has left.

The test of the scheduler's NodeResourcesFit plugin and of the node's own admission, per resource: a positive
request must not exceed allocatable less what is used. Zero always fits, even on an overcommitted node. A refusal
is a value that names the numbers; whether it can ever be lifted is `Shortage.is_permanent`.
"""

from collections.abc import Mapping

import msgspec

from flexlet.api.pod import ResourceList
from flexlet.core.resources.amounts import as_integers
from flexlet.core.resources.names import PODS


class Shortage(msgspec.Struct, frozen=True):
    """One resource of which the node has too little; CPU in thousandths, others in whole units."""

    resource: str
    requested: int
    used: int
    capacity: int

    @property
    def is_permanent(self) -> bool:
        """Whether the node could not hold the pod even if it were empty."""
        return self.requested > self.capacity

    @property
    def reason(self) -> str:
        """The words of the scheduler (``Insufficient cpu``)."""
        return "Too many pods" if self.resource == PODS else f"Insufficient {self.resource}"


def shortages(
    requests: ResourceList, allocatable: ResourceList, used: Mapping[str, int], other_pods: int = 0
) -> list[Shortage]:
    """What is missing, empty if the pod fits; `used` is in the units of `amounts.as_integers`."""
    capacity = as_integers(allocatable)
    found = []
    if other_pods + 1 > capacity.get(PODS, 0):
        found.append(Shortage(PODS, 1, other_pods, capacity.get(PODS, 0)))
    for name, requested in as_integers(requests).items():
        held, limit = used.get(name, 0), capacity.get(name, 0)
        if requested > 0 and requested > limit - held:
            found.append(Shortage(name, requested, held, limit))
    return found
