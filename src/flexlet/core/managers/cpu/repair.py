"""A node that starts: the book from its state file, mended where it does not match, instead of no start."""

from collections.abc import Mapping, Sequence

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.outcome import Outcome
from flexlet.core.managers.state import CpuState


def restore(
    state: CpuState, ground: Ground, pods: Sequence[PodClaim], *, safe: frozenset[str] = frozenset()
) -> Outcome:
    """The book that was read, made to match the hardware and the settings; `repairs` says what was done.

    `pods` and `safe` as in `resync`. ConfigError only for settings that cannot work.
    """
    raise NotImplementedError(state, ground, pods, safe)


def rebuild(
    running: Mapping[str, Mapping[str, CpuSet]],
    ground: Ground,
    pods: Sequence[PodClaim],
    *,
    safe: frozenset[str] = frozenset(),
) -> Outcome:
    """The book from the CPU sets of running containers, by pod uid and container: for a file that is spoiled.

    A container whose set cannot be its own (too large, too small, shared with another) is left out; it is placed
    anew like a pod that comes in.
    """
    raise NotImplementedError(running, ground, pods, safe)
