"""The book after the machine changed under running pods: CPUs came, went, or both."""

from collections.abc import Sequence

from flexlet.core.machine.machine import Machine
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.outcome import Outcome
from flexlet.core.managers.state import CpuState


def resync(
    state: CpuState,
    ground: Ground,
    pods: Sequence[PodClaim],
    *,
    before: Machine | None = None,
    safe: frozenset[str] = frozenset(),
) -> Outcome:
    """The book for the machine of `ground`; the same book if nothing concerns it.

    `pods` are all that keep their place, most important first; pods that are terminating come last and keep their
    CPUs too. Whoever is in the book and not among them gives its CPUs back. `before` tells on which NUMA nodes the
    lost CPUs were. `safe` pods (static, critical) are never victims: without replacement they keep what is left.
    """
    raise NotImplementedError(state, ground, pods, before, safe)
