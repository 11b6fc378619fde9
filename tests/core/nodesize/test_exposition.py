"""Metrics: the names of balloon.md §11, as Prometheus reads them."""

import pytest
from tests.core.nodesize.worlds import NOW, amounts, balloon, node, pod, scene, size

from flexlet.api import age, decode
from flexlet.api.pod import Pod
from flexlet.core.nodesize import exposition, sizes
from flexlet.core.nodesize.decider import NodeSizeDecider
from flexlet.core.nodesize.objects import BalloonSizes, NodeSizeStatus, Progress
from flexlet.core.nodesize.tally import Tally

WANTED = """\
# HELP flexlet_balloon_cores Size of a node's balloons in CPUs.
# TYPE flexlet_balloon_cores gauge
flexlet_balloon_cores{node="n1",kind="desired"} 7
flexlet_balloon_cores{node="n1",kind="allocated"} 3.5
flexlet_balloon_cores{node="n1",kind="actual"} 3.5
# HELP flexlet_balloon_bytes Size of a node's balloons in bytes of memory.
# TYPE flexlet_balloon_bytes gauge
flexlet_balloon_bytes{node="n1",kind="desired"} 30064771072
flexlet_balloon_bytes{node="n1",kind="allocated"} 12884901888
flexlet_balloon_bytes{node="n1",kind="actual"} 12884901888
# HELP flexlet_node_effective_cores What workloads may use of a node, in CPUs.
# TYPE flexlet_node_effective_cores gauge
flexlet_node_effective_cores{node="n1"} 11.5
# HELP flexlet_node_effective_bytes What workloads may use of a node, in bytes of memory.
# TYPE flexlet_node_effective_bytes gauge
flexlet_node_effective_bytes{node="n1"} 51539607552
# HELP flexlet_balloon_headroom_cores By how much a node's balloons could grow, in CPUs.
# TYPE flexlet_balloon_headroom_cores gauge
flexlet_balloon_headroom_cores{node="n1"} 6.5
# HELP flexlet_balloon_headroom_bytes By how much a node's balloons could grow, in bytes of memory.
# TYPE flexlet_balloon_headroom_bytes gauge
flexlet_balloon_headroom_bytes{node="n1"} 30064771072
# HELP flexlet_balloon_resize_total Resizes of balloons that came to an end.
# TYPE flexlet_balloon_resize_total counter
flexlet_balloon_resize_total{direction="deflate",result="granted"} 1
flexlet_balloon_resize_total{direction="inflate",result="refused"} 2
"""


def test_everything_has_its_name() -> None:
    tally = Tally()
    has = amounts(3.5, 12)
    stage = scene(amounts(7, 28), balloon(has, has), workload=amounts(5, 20))
    status = NodeSizeStatus(balloon=BalloonSizes(desired=sizes.listed(amounts(7, 28))))
    tally.looked(stage, status, NOW)
    since = age.format_micro(NOW - 0.2)
    granted = Progress(resource="cpu", direction="Deflate", result="Granted", since=since)
    refused = Progress(resource="cpu", direction="Inflate", result="Refused", since=since)
    tally.ended("n1", [granted, refused, refused], NOW)
    text = exposition.render(tally)
    assert text.startswith(WANTED)
    rest = text[len(WANTED) :]
    assert 'flexlet_balloon_resize_seconds_bucket{direction="deflate",le="0.1"} 0\n' in rest
    assert 'flexlet_balloon_resize_seconds_bucket{direction="deflate",le="0.25"} 1\n' in rest
    assert 'flexlet_balloon_resize_seconds_bucket{direction="deflate",le="+Inf"} 1\n' in rest
    assert 'flexlet_balloon_resize_seconds_count{direction="deflate"} 1\n' in rest
    assert "flexlet_balloon_victims_total 0\n" in rest
    assert 'flexlet_balloon_overcommitted{node="n1"} 0\n' in rest


def test_a_pod_that_its_node_killed_after_an_inflate_is_counted_once() -> None:
    decider = NodeSizeDecider()
    decider.fold(size())
    decider.fold(node())
    record = Progress(resource="cpu", direction="Inflate", result="Granted", since=age.format_micro(NOW))
    decider.tally.ended("n1", [record], NOW)
    for _ in range(2):
        decider.fold(pod("a", 1, 1, phase="Failed", reason="Preempting"))
    decider.fold(pod("b", 1, 1, phase="Failed", reason="OutOfcpu"))
    assert decider.tally.victims == {"n1": 1}


@pytest.mark.parametrize(("later_s", "victims"), [(-3600, 0), (-2, 1), (29, 1), (3600, 0)])
def test_who_was_killed_at_another_time_was_killed_for_somebody_else(later_s: float, victims: int) -> None:
    tally = Tally()
    has = amounts(3, 12)
    asked = Progress(resource="cpu", direction="Inflate", result="Pending", since=age.format_micro(NOW))
    stage = scene(amounts(7, 12), balloon(has, has), workload=amounts(5, 20))
    tally.looked(stage, NodeSizeStatus(progress=(asked,)), NOW)
    killed = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastTransitionTime": age.format_seconds(NOW + later_s),
    }
    seen = pod("a", 1, 1, phase="Failed", reason="Preempting", conditions=[killed])
    tally.pod_seen(decode.from_json(seen.raw, Pod))
    assert tally.victims.total() == victims
