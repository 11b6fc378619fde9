"""Who a balloon may be: critical only where inflating it can cost nobody's life (balloon.md §2)."""

import msgspec
import pytest
from tests.core.nodesize.worlds import NOW, amounts, balloon, node, size

from flexlet.core.actions import CreateObject
from flexlet.core.nodesize import modes, names
from flexlet.core.nodesize.decider import NodeSizeDecider
from flexlet.core.nodesize.modes import Verdict
from flexlet.core.nodesize.settings import ClusterFacts, Settings
from flexlet.core.nodesize.sights import NodeSight
from flexlet.core.observations import Seen
from flexlet.core.refs import NODES, PODS

CRITICAL = Settings(mode="stock-critical")
SAFE = ClusterFacts(version=(1, 37), spares_victims=True)
RELEASES = "stock-critical needs API server, scheduler and kubelet 1.37 or later"
GATE = "stock-critical needs gate InPlacePodVerticalScalingSchedulerPreemption in all components"
POLICY = "stock-critical needs flexlet.io/balloon in the node's spec.podPreemptionPolicy.disableResizePreemption"


def sight(version: tuple[int, int] = (1, 37), *, spares: bool = True, system: str = "linux") -> NodeSight:
    has = amounts(15, 60)
    return NodeSight(
        name="n1",
        uid="u",
        resource_version="1",
        capacity=has,
        allocatable=has,
        version=version,
        preemption_is_off=spares,
        system=system,
    )


@pytest.mark.parametrize(
    ("node", "cluster", "verdict"),
    [
        (sight(), SAFE, Verdict("stock-critical")),
        (sight((1, 36)), SAFE, Verdict("stock", "CriticalIsUnsafe", RELEASES)),
        (
            sight(),
            ClusterFacts(version=(1, 36), spares_victims=True),
            Verdict("stock", "CriticalIsUnsafe", RELEASES),
        ),
        (sight(), ClusterFacts(version=(1, 37)), Verdict("stock", "CriticalIsUnsafe", GATE)),
        (sight(spares=False), SAFE, Verdict("stock", "CriticalIsUnsafe", POLICY)),
        (
            sight(system="windows"),
            SAFE,
            Verdict("unsupported", "UnsupportedPlatform", "Windows nodes cannot resize pods in place"),
        ),
    ],
)
def test_one_thing_that_is_missing_is_enough(node: NodeSight, cluster: ClusterFacts, verdict: Verdict) -> None:
    assert modes.judge(node, CRITICAL, cluster) == verdict
    assert modes.judge(node, Settings(), cluster).mode in {"stock", "unsupported"}


def test_a_critical_balloon_is_made_at_the_floor() -> None:
    """The gate spares pods when a pod is resized; a new critical pod would still preempt."""
    known = msgspec.json.decode(node().raw)
    known["spec"] = {"podPreemptionPolicy": {"disableResizePreemption": [names.LABEL]}}
    known["status"]["nodeInfo"]["kubeletVersion"] = "v1.37.0"
    decider = NodeSizeDecider(CRITICAL, SAFE)
    decider.fold(size(target={"balloon": {"cpu": "7", "memory": "28Gi"}}))
    decider.fold(Seen(NODES, msgspec.json.encode(known)))
    (made,) = [a for a in decider.decide(NOW).actions if isinstance(a, CreateObject) and a.ref == PODS]
    assert made.body["spec"]["priorityClassName"] == "system-node-critical"
    assert made.body["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1m", "memory": "16Mi"}


@pytest.mark.parametrize(("mode", "may"), [("native", True), ("stock-critical", True), ("stock", False)])
def test_a_critical_balloon_is_inflated_only_where_that_is_safe(mode: modes.Mode, may: bool) -> None:
    has = amounts(3, 12)
    assert (modes.may_inflate(balloon(has, has, is_critical=True), Verdict(mode)) == "") is may
    assert modes.may_inflate(balloon(has, has), Verdict(mode)) == ""
