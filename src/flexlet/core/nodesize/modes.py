"""Which priority class a balloon may have, so that inflating it never costs anybody's life (balloon.md §2).

A stock kubelet kills running pods to make room for the resize of a critical pod, unless it is 1.37 or later with
an alpha gate on. So a balloon is critical only where the operator asks for it and all of that is known; and one
that is critical anyway, on a node where that is dangerous, is never inflated.
"""

from typing import Final, Literal

import msgspec

from flexlet.core.nodesize import names
from flexlet.core.nodesize.settings import ClusterFacts, Settings
from flexlet.core.nodesize.sights import Balloon, NodeSight

Mode = Literal["native", "stock", "stock-critical", "unsupported"]

OLDEST: Final = (1, 33)
_SAFE: Final = (1, 37)


class Verdict(msgspec.Struct, frozen=True):
    """The mode, and why it is not the one that was asked for."""

    mode: Mode
    reason: str = ""
    message: str = ""

    @property
    def priority_class(self) -> str:
        """The class of a new balloon."""
        return names.CRITICAL_CLASS if self.mode == "stock-critical" else names.CLASS


def judge(node: NodeSight, settings: Settings, cluster: ClusterFacts) -> Verdict:
    """How balloons are run on a node."""
    if node.system == "windows":
        return Verdict("unsupported", "UnsupportedPlatform", "Windows nodes cannot resize pods in place")
    if node.is_native:
        return Verdict("native")
    if node.version < OLDEST:
        found = ".".join(map(str, node.version))
        text = f"kubelet {found} cannot resize pods in place: 1.33 or later is needed"
        return Verdict("unsupported", "KubeletTooOld", text)
    if settings.mode != "stock-critical":
        return Verdict("stock")
    lacking = _lacking(node, cluster)
    return Verdict("stock", "CriticalIsUnsafe", lacking) if lacking else Verdict("stock-critical")


def may_inflate(balloon: Balloon, verdict: Verdict) -> str:
    """Why a balloon must not be inflated, empty if it may: a critical one could kill on a stock kubelet."""
    if not balloon.is_critical or verdict.mode in {"native", "stock-critical"}:
        return ""
    return (
        f"pod {balloon.name} is critical, and this kubelet kills running pods to make room for the resize of a"
        f" critical pod: delete it, and it comes back with class {names.CLASS}"
    )


def _lacking(node: NodeSight, cluster: ClusterFacts) -> str:
    if node.version < _SAFE or cluster.version < _SAFE:
        return "stock-critical needs API server, scheduler and kubelet 1.37 or later"
    if not cluster.spares_victims:
        return "stock-critical needs gate InPlacePodVerticalScalingSchedulerPreemption in all components"
    if not node.preemption_is_off:
        return f"stock-critical needs {names.LABEL} in the node's spec.podPreemptionPolicy.disableResizePreemption"
    return ""
