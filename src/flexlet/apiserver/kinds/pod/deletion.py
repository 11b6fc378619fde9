"""How long a pod may take to end when it is deleted."""

from flexlet.apiserver.contract.kind import Object

ENDED = frozenset({"Succeeded", "Failed"})


def deletion_grace(pod: Object, requested: int | None) -> int:
    """Seconds until the pod must be gone; 0 means at once.

    What the caller asked for, else the pod's own period. A pod without a node or that has ended has nobody to
    wait for; a negative period becomes one second.
    """
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in ENDED:
        return 0
    period: int = requested if requested is not None else spec.get("terminationGracePeriodSeconds") or 0
    return 1 if period < 0 else period
