"""The decider itself; what one look at one node comes to is told by the scenarios."""

import msgspec

from flexlet.core.actions import PatchObject
from flexlet.core.nodesize import names
from flexlet.core.nodesize.decider import BATCH, NodeSizeDecider
from flexlet.core.observations import Seen

NOW = 1_700_000_000.0


def test_many_nodes_are_looked_at_in_rounds() -> None:
    """Thousands of requests in one plan would be answered long after they were decided."""
    decider = NodeSizeDecider()
    wanted = [f"n{index:03}" for index in range(2 * BATCH + 50)]
    for name in wanted:
        raw = msgspec.json.encode({"metadata": {"name": name, "uid": name}, "spec": {}})
        decider.fold(Seen(names.NODE_SIZES, raw))
    rounds = [decider.decide(NOW) for _ in range(3)]
    touched = [
        [a.name for a in plan.actions if isinstance(a, PatchObject) and "metadata" in a.patch] for plan in rounds
    ]
    assert touched == [wanted[:BATCH], wanted[BATCH : 2 * BATCH], wanted[2 * BATCH :]]
    assert [plan.wake_at for plan in rounds[:2]] == [NOW, NOW]
