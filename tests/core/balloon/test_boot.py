"""The taint of a node whose balloon is not there yet."""

from flexlet.api.node import Taint
from flexlet.core.balloon import boot

PENDING = Taint(key="flexlet.io/balloon-pending", effect="NoSchedule")
OTHER = Taint(key="a", effect="NoExecute")


def test_a_node_that_waits_for_its_balloon_says_so_once() -> None:
    assert boot.taints((OTHER,), pending=False) == (OTHER,)
    assert boot.taints((OTHER,), pending=True) == (OTHER, PENDING)
    assert boot.taints((PENDING,), pending=True) == (PENDING,)
