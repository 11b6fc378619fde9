"""The four checks with which the kubelet decides whether its state file belongs to this machine."""

from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.state import CpuState


def problems(state: CpuState, ground: Ground) -> tuple[str, ...]:
    """What does not match, in the kubelet's words and order; it refuses to start with the first."""
    raise NotImplementedError(state, ground)
