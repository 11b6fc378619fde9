"""Why a pod waits, in the sentence operators know from kube-scheduler."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

NO_NODES: Final = "no nodes available to schedule pods"
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
NO_VICTIMS: Final = "No preemption victims found for incoming pod"
NOT_ELIGIBLE: Final = "not eligible due to preemptionPolicy=Never."


def fit_error(nodes: int, reasons: Iterable[str], preemption: str) -> str:
    """``0/3 nodes are available: 1 Insufficient cpu, ... preemption: ...``."""
    if nodes == 0:
        return NO_NODES
    text = f"0/{nodes} nodes are available: {_histogram(reasons)}."
    return f"{text} preemption: {preemption}" if preemption else text


def preemption_outcome(nodes: int, reasons: Iterable[str]) -> str:
    """The second half: what evicting pods would have done."""
    return f"0/{nodes} nodes are available: {_histogram(reasons)}."


def _histogram(reasons: Iterable[str]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in Counter(reasons).items()))
