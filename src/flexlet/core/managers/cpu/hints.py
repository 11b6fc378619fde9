"""What the CPU manager can offer to the topology manager: sets of NUMA nodes that have enough free CPUs."""

from flexlet.core.managers.claims import ContainerClaim, PodClaim
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.hints import ResourceHints
from flexlet.core.managers.state import CpuState


def container_hints(state: CpuState, ground: Ground, pod: PodClaim, container: ContainerClaim) -> ResourceHints:
    """The offers for one container, under ``cpu``; nothing at all if it shares."""
    raise NotImplementedError(state, ground, pod, container)


def pod_hints(state: CpuState, ground: Ground, pod: PodClaim) -> ResourceHints:
    """The offers for a whole pod: what its containers need at the same time."""
    raise NotImplementedError(state, ground, pod)
