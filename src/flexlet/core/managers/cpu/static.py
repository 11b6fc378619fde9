"""The static policy: who gets CPUs of its own, and which."""

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.claims import ContainerClaim, PodClaim
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.hints import Hint
from flexlet.core.managers.state import CpuState, Refusal


def reserved(ground: Ground) -> CpuSet:
    """The CPUs that are never given out, on a machine that starts afresh; ConfigError if there can be none."""
    raise NotImplementedError(ground)


def fresh(ground: Ground) -> CpuState:
    """The book of a node on which nothing runs; for policy none an empty one. ConfigError as `reserved`."""
    raise NotImplementedError(ground)


def place(
    state: CpuState, ground: Ground, pod: PodClaim, container: ContainerClaim, hint: Hint | None = None
) -> CpuState | Refusal:
    """The book with this container in it; the same book if it shares, or if it has its CPUs already.

    Containers of a pod are placed in the order in which they start: what an init container had may be used again.
    """
    raise NotImplementedError(state, ground, pod, container, hint)


def release(state: CpuState, uid: str, container: str | None = None) -> CpuState:
    """The book without this container (None: without the pod); CPUs that a sibling still holds stay with it."""
    raise NotImplementedError(state, uid, container)


def pool(state: CpuState) -> CpuSet:
    """Where containers run that have no CPUs of their own.

    With strict reservation everything else may be given out; then they run on the reserved CPUs rather than nowhere.
    """
    raise NotImplementedError(state)
