"""Random lives of a node that is asked to become smaller: wishes, refusals, pods, deaths and lost time."""

from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.hotplug import nodes
from tests.core.hotplug.shrinking import FULL, Node, moved

from flexlet.core.hotplug import prepared
from flexlet.core.hotplug.preparing import Evict, Prepared, TakeOffline
from flexlet.core.machine.parts import Part, offline
from flexlet.core.resources.amounts import total

WISHES: Final = (
    "",
    '{"cpu": "3"}',
    '{"memory": "6Gi"}',
    '{"cpu": "2", "memory": "5Gi"}',
    '{"memory": "7680Mi"}',
    '{"memory": "16Mi"}',
    "nonsense",
)
PODS: Final = tuple(
    nodes.tenant(name, size, age=age, static=name == "etcd")
    for age, (name, size) in enumerate(
        [("etcd", "500m,1Gi"), ("a", "500m,1Gi"), ("b", "500m,2Gi"), ("c", "1,512Mi"), ("d", "250m,3Gi")]
    )
)
PARTS: Final = tuple(f"memory{block}" for block in range(8)) + tuple(f"cpu{cpu}" for cpu in range(1, 4))

MOVES: Final = st.one_of(
    st.tuples(st.just("wish"), st.sampled_from(WISHES)),
    st.tuples(st.just("stubborn"), st.sets(st.sampled_from(PARTS), max_size=3)),
    st.tuples(st.just("pods"), st.sets(st.sampled_from(range(len(PODS))), max_size=5)),
    st.tuples(st.just("movable"), st.sets(st.integers(0, 7))),
    st.tuples(st.just("published"), st.booleans()),
    st.tuples(st.just("passes"), st.sampled_from([1.0, 6.0, 300.0])),
    st.tuples(st.just("dies"), st.integers(0, 3)),
    st.tuples(st.just("removed"), st.just(None)),
    st.tuples(st.just("step"), st.just(None)),
    st.tuples(st.just("step"), st.just(None)),
)


class Life(Node):
    """A node whose every decision is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = False
        self.lost: set[Part] = set()
        """Parts that refused to come back."""

    def switch(self, part: Part, way: str) -> bool:
        done = super().switch(part, way)
        self.lost |= set() if done or way == "offline" else {part}
        return done

    def step(self) -> Any:
        found = super().step()
        leaving = {each.uid for each in found.steps if isinstance(each, Evict)}
        taken = {each.part for each in found.steps if isinstance(each, TakeOffline)}
        assert "etcd" not in leaving
        assert not (leaving and taken), "parts go only when everybody has room"
        assert taken <= set(found.state.parts)
        assert Part("cpu", 0) not in taken
        assert found.closed == (found.state.phase in ("evicting", "offlining", "ready"))
        assert not (found.refused and found.closed)
        if taken:
            used = total(each.requests for each in self.tenants)
            assert all(
                used.get(name, amount) <= amount for name, amount in found.ceiling.items() if name != "pods"
            )
        if found.unplug_ready:
            assert set(found.state.parts) <= offline(self.machine.half_plugged) or not found.state.parts
        return found

    def move(self, name: str, value: Any) -> None:
        match name:
            case "wish" | "stubborn" | "published":
                setattr(self, name, value)
            case "movable":
                self.movable = frozenset(value) - set(self.machine.half_plugged.offline_blocks)
            case "pods":
                # Nobody new is let in while less is offered.
                here = {each.uid for each in self.tenants}
                chosen = tuple(PODS[index] for index in sorted(value))
                self.tenants = tuple(each for each in chosen if not self.last.closed or each.uid in here)
            case "passes":
                self.now += value
            case "dies":
                self.dies_after = value
                self.step()
                self.dies_after, self.state = None, prepared.resumed(self.state)
            case "removed" if self.last.unplug_ready and self.state.phase == "ready" and self.state.parts:
                for part in self.state.parts:
                    self.machine = moved(self.machine, part, "gone")
                self.gone = True
            case "step":
                self.step()


@settings(max_examples=100, deadline=None)
@given(st.lists(MOVES, max_size=30))
def test_a_withdrawn_wish_leaves_the_node_as_it_was(moves: list[tuple[str, Any]]) -> None:
    """Whatever happened on the way; only parts that were removed or refused to come back stay away."""
    node = Life()
    for name, value in moves:
        node.move(name, value)
    node.wish, node.published, node.stubborn = "", True, set()
    for _ in range(5):
        node.run()
    assert node.state == Prepared()
    assert node.last.ceiling == {}
    assert offline(node.machine.half_plugged) <= node.lost
    assert node.gone or node.lost or node.machine == FULL
