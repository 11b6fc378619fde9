"""Random lives of a node: pods come and go, CPUs come and go, and the book stays true."""

from collections.abc import Iterator

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.core.managers.cpu.grounds import ground, machine, on, only, placed, pod

from flexlet.api.cpuset import CpuSet
from flexlet.core.managers.claims import PodClaim
from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.outcome import Outcome
from flexlet.core.managers.cpu.reservation import held
from flexlet.core.managers.cpu.resync import resync
from flexlet.core.managers.cpu.static import fresh, pool, release, union
from flexlet.core.managers.cpu.taking import is_whole
from flexlet.core.managers.state import CpuState

WHOLE = [machine(4, 2, 2), machine(8, 1, 2, nodes=4), machine(4, 4), machine(6, 2, caches=3)]
OPTIONS = [
    (),
    ("full-pcpus-only",),
    ("strict-cpu-reservation",),
    ("full-pcpus-only", "strict-cpu-reservation", "distribute-cpus-across-numa"),
    ("prefer-align-cpus-by-uncorecache",),
    ("distribute-cpus-across-cores",),
    ("align-by-socket",),
]
COUNTS = st.tuples(st.integers(0, 5), st.integers(0, 3))
SHAPES = st.builds(
    lambda counts, init, sidecars: (counts, init, sidecars),
    COUNTS,
    st.lists(st.integers(0, 4), max_size=2).map(tuple),
    st.lists(st.integers(0, 2), max_size=1).map(tuple),
)


class Node:
    """A node that lives: its book, its machine, its pods in order of importance."""

    def __init__(self, floor: Ground) -> None:
        self.full = floor
        self.floor = floor
        self.state = fresh(floor)
        self.pods: list[PodClaim] = []

    def admit(self, claim: PodClaim) -> None:
        after = placed(self.state, self.floor, claim)
        if isinstance(after, CpuState):
            self.state = after
            self.pods.append(claim)

    def end(self, claim: PodClaim) -> None:
        self.state = release(self.state, claim.uid)
        self.pods.remove(claim)

    def resize(self, online: CpuSet) -> Outcome:
        before, here = self.floor.machine, on(self.full, only(self.full.machine, online))
        done = resync(self.state, here, self.pods, before=before)
        self.floor, self.state = here, done.state
        self.pods = [claim for claim in self.pods if claim.uid not in done.victims]
        return done


def check(node: Node) -> None:
    state, online = node.state, node.floor.online
    strictly = state.reserved if node.floor.strict else CpuSet()
    assert state.shared | held(state) | strictly == online, "a CPU was lost or invented"
    assert not state.shared & held(state), "an exclusive CPU is shared"
    assert not state.reserved & held(state), "a reserved CPU was handed out"
    assert sum(len(union(sets)) for sets in state.entries.values()) == len(held(state)), "a CPU has two owners"
    assert pool(state), "there is nowhere to run"
    for claim in node.pods:
        for container in claim.containers:
            own = state.cpus_of(claim.uid, container.name) or CpuSet()
            assert len(own) == container.cpus


def lives(data: st.DataObject) -> Iterator[tuple[Node, CpuState, list[PodClaim], Outcome | None]]:
    """After every step the node, and what it was before; the outcome if the machine changed."""
    whole, options = data.draw(st.sampled_from(WHOLE)), data.draw(st.sampled_from(OPTIONS))
    node = Node(ground(whole, *options, reserve=data.draw(st.integers(1, 3))))
    for number in range(data.draw(st.integers(1, 8))):
        before, pods, done = node.state, list(node.pods), None
        match data.draw(st.sampled_from(["admit", "admit", "end", "resize"])):
            case "admit":
                counts, init, sidecars = data.draw(SHAPES)
                node.admit(pod(f"p{number}", *counts, init=init, sidecars=sidecars))
            case "end" if node.pods:
                node.end(data.draw(st.sampled_from(node.pods)))
            case _:
                ids = st.sampled_from(list(whole.online))
                online = whole.online - CpuSet.of(data.draw(st.sets(ids, max_size=len(whole.cpus) - 1)))
                done = node.resize(online)
        yield node, before, pods, done


@given(st.data())
def test_the_book_stays_true(data: st.DataObject) -> None:
    for node, _, _, _ in lives(data):
        check(node)


@given(st.data())
def test_what_is_given_is_whole_where_that_is_the_rule(data: st.DataObject) -> None:
    """What was given before a core grew by a thread stays: nobody is moved to a better place."""
    for node, before, _, _ in lives(data):
        for claim in node.pods if node.floor.whole_cores else ():
            for container in claim.containers:
                own = node.state.cpus_of(claim.uid, container.name) or CpuSet()
                old = own == before.cpus_of(claim.uid, container.name)
                assert old or container.kind == "init" or is_whole(node.floor, own)


@given(st.data())
def test_a_plug_is_undone_by_its_unplug(data: st.DataObject) -> None:
    for node, _, _, _ in lives(data):
        node.resize(node.floor.online)
        before, online = node.state, node.floor.online
        more = CpuSet.of(data.draw(st.sets(st.sampled_from(list(node.full.online)))))
        grown = node.resize(online | more)
        assert (grown.victims, grown.reassigned) == ({}, ())
        assert (node.resize(online).victims, node.state) == ({}, before)


@given(st.data())
def test_following_twice_changes_nothing(data: st.DataObject) -> None:
    """Following once may complete a reservation that was short and for which a pod left CPUs behind."""
    for node, _, _, _ in lives(data):
        state = node.resize(node.floor.online).state
        again = node.resize(node.floor.online)
        assert (again.writes, again.victims, again.state) == ((), {}, state)


@given(st.data())
def test_no_cpu_has_two_owners_while_sets_are_written(data: st.DataObject) -> None:
    for node, before, pods, done in lives(data):
        if done is None:
            continue
        assume(pool(before) & pool(done.state))
        now = {
            (claim.uid, each.name): _runs_on(before, claim.uid, each.name)
            for claim in pods
            for each in claim.containers
        }
        exclusive = {(uid, name) for uid, sets in done.state.entries.items() for name in sets}
        for write in done.writes:
            now[write.uid, write.container] = write.cpus
            assert _owners_are_alone(now, exclusive, node.floor.online)
        assert now == {key: _runs_on(done.state, *key) for key in now}


def _runs_on(state: CpuState, uid: str, container: str) -> CpuSet:
    return state.cpus_of(uid, container) or pool(state)


def _owners_are_alone(now: dict[tuple[str, str], CpuSet], exclusive: set[tuple[str, str]], online: CpuSet) -> bool:
    return not any(
        now[owner] & cpus & online for owner in exclusive for other, cpus in now.items() if other[0] != owner[0]
    )
