"""Who may come in, whose resize is granted, who must make way: never more than the node has."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.agent.builders import NOW, SETUP, container, pod

from flexlet.api.nodepod import NodePod
from flexlet.api.quantity import Quantity
from flexlet.api.units import PodUid
from flexlet.core.agent import household
from flexlet.core.agent.deeds import SaveAllocation
from flexlet.core.agent.observations import Done, Failed, Finished, Outcome, PodSeen
from flexlet.core.agent.record import ADMITTED, REJECTED, UNDECIDED, Ending, PodRecord
from flexlet.core.agent.world import Remembered, World, active, joined
from flexlet.core.resize import conditions, neighbours, triggers
from flexlet.core.resize.allocation import NOTHING, of_spec

NODE = {"cpu": "2", "memory": "4Gi", "pods": "10"}
HERE = replace(SETUP, allocatable={name: Quantity.parse(amount) for name, amount in NODE.items()})
EMPTY = World(setup=HERE, listed=True)


def sized(name: str, milli: int, **spec: Any) -> NodePod:
    of = pod(container("c", f"{milli}m,64Mi"), **spec)
    return replace(of, metadata=replace(of.metadata, name=name, uid=name))


def arrived(world: World, *pods: NodePod) -> World:
    return world.with_pods({each.metadata.uid: PodRecord(pod=each) for each in pods})


def ended(world: World, deed: SaveAllocation, outcome: Outcome) -> household.Settlement:
    finished = Finished(deed=deed, outcome=outcome, began_at=NOW, ended_at=NOW)
    return household.granted(world, finished, NOW)


def held(world: World) -> int:
    """Thousandths of a CPU that are given away, or about to be."""
    return sum(
        neighbours.held(each.pod, each.granted or each.allocation).get("cpu", 0)
        for each in active(world).values()
        if each.admission == ADMITTED or each.granted is not None
    )


def test_nobody_is_let_in_before_every_source_was_heard() -> None:
    world = arrived(replace(EMPTY, listed=False), sized("a", 100))
    assert household.settle(world, NOW) == household.Settlement(world=world)


def test_a_pod_is_let_in_when_its_allocation_is_on_disk() -> None:
    of = sized("a", 100)
    first = household.settle(arrived(EMPTY, of), NOW)
    deed = SaveAllocation(uid="a", allocation=of_spec(of), generation=of.metadata.generation)
    assert (first.deeds, first.world.pods["a"].admission) == ((deed,), UNDECIDED)
    assert household.settle(first.world, NOW).deeds == ()
    done = ended(first.world, deed, Done()).world.pods["a"]
    assert (done.admission, done.allocation, done.granted, done.underway) == (ADMITTED, of_spec(of), None, {})


def test_a_grant_that_the_disk_refused_is_given_again_later() -> None:
    of = sized("a", 100)
    first = household.settle(arrived(EMPTY, of), NOW)
    refused = ended(
        first.world,
        SaveAllocation(uid="a", allocation=of_spec(of), generation=of.metadata.generation),
        Failed(message="full"),
    )
    assert (refused.world.look_again_at, refused.world.pods["a"].admission) == (NOW + 10, UNDECIDED)
    assert household.settle(refused.world, NOW + 9).deeds == ()
    assert len(household.settle(refused.world, NOW + 10).deeds) == 1


def test_one_who_does_not_fit_is_turned_away_and_told() -> None:
    world = household.settle(arrived(EMPTY, sized("a", 3000)), NOW)
    record = world.world.pods["a"]
    text = "Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000"
    assert (record.admission, record.ending) == (
        REJECTED,
        Ending(reason="OutOfcpu", message=f"Pod was rejected: {text}"),
    )
    assert [(each.type, each.reason, each.message) for each in world.events] == [("Warning", "OutOfcpu", text)]


def test_the_second_of_two_at_the_door_sees_what_the_first_was_given() -> None:
    settled = household.settle(arrived(EMPTY, sized("a", 1500), sized("b", 1500)), NOW)
    assert ([each.uid for each in settled.deeds], settled.world.pods["b"].admission) == (["a"], REJECTED)


def test_a_critical_pod_waits_until_its_victims_are_gone() -> None:
    victim = PodRecord(pod=sized("v", 1500), admission=ADMITTED, allocation=of_spec(sized("v", 1500)))
    world = arrived(EMPTY.with_pods({"v": victim}), sized("c", 1500, priority=2_000_000_000))
    first = household.settle(world, NOW)
    assert (first.deeds, first.world.pods["v"].ending) == (
        (),
        Ending(failed=False, disruption=household.PREEMPTED),
    )
    assert [each.reason for each in first.events] == ["Preempting"]
    again = household.settle(first.world, NOW)
    assert (again.deeds, again.events) == ((), ())
    gone = first.world.with_pods({"v": replace(first.world.pods["v"], stopped=True)})
    assert [each.uid for each in household.settle(gone, NOW).deeds] == ["c"]


SIZES = st.integers(0, 12).map(lambda tenths: tenths * 200)
KINDS = st.sampled_from(["new", "resize", "fail", "go"])
ARRIVALS = st.lists(st.tuples(st.sampled_from("abcde"), SIZES, KINDS), max_size=14)


@given(ARRIVALS)
def test_grants_never_exceed_the_node(steps: list[tuple[str, int, str]]) -> None:
    """Pods come, ask for other sizes, leave; the disk fails at times. What is given away always fits."""
    world = EMPTY
    for name, size, what in steps:
        record = world.pods.get(name)
        if what == "go" and record is not None:
            world = world.without([name])
        elif record is None:
            world = arrived(world, sized(name, size))
        else:
            generation = record.pod.metadata.generation + 1
            wanted = sized(name, size)
            wanted = replace(wanted, metadata=replace(wanted.metadata, generation=generation))
            world = world.with_pods({name: replace(record, pod=wanted)}).because(triggers.POD_UPDATED)
        for _ in range(3):
            settled = household.settle(world, NOW)
            world = settled.world
            assert held(world) <= 2000
            for deed in settled.deeds:
                assert isinstance(deed, SaveAllocation)
                outcome: Outcome = Failed(message="full") if what == "fail" else Done()
                world = ended(world, deed, outcome).world
            assert held(world) <= 2000


def test_what_an_earlier_agent_gave_is_joined_to_the_pod() -> None:
    of = sized("a", 100)
    known = Remembered(of_spec(of), of_spec(sized("a", 50)))
    world = replace(EMPTY, remembered={"a": known})
    record = joined(world, PodSeen(of), NOW)
    assert (record.allocation, record.actuated, record.admission, record.seen_at) == (
        known.allocation,
        known.actuated,
        UNDECIDED,
        NOW,
    )
    over = replace(of, status=replace(of.status, phase="Succeeded"))
    finished = joined(EMPTY, PodSeen(over), NOW)
    assert (finished.admission, finished.allocation, finished.actuated) == (ADMITTED, None, NOTHING)


def test_the_first_reason_to_look_again_is_kept() -> None:
    assert EMPTY.because("x").because("y").trigger == "x"
    assert EMPTY.because(None) is EMPTY
    assert EMPTY.with_pods({}) is EMPTY
    assert PodUid("a") not in active(arrived(EMPTY, sized("a", 1)).without(["a"]))


def test_a_grant_is_told_with_the_generation_it_was_made_for() -> None:
    """A newer wish that came meanwhile has not been granted yet."""
    before, wish, newer = (
        replace(of, metadata=replace(of.metadata, generation=number))
        for number, of in enumerate((sized("a", 100), sized("a", 200), sized("a", 300)), 1)
    )
    world = arrived(EMPTY, newer)
    known = replace(world.pods["a"], admission=ADMITTED, allocation=of_spec(before))
    deed = SaveAllocation(uid="a", allocation=of_spec(wish), generation=2)
    done = ended(world.with_pods({"a": known}), deed, Done())
    progress = done.world.pods["a"].resize.in_progress
    assert progress is not None
    assert progress.observed_generation == 2
    resources = '{"requests":{"cpu":"200m","memory":"64Mi"}}'
    text = f'Pod resize started: {{"containers":[{{"name":"c","resources":{resources}}}],"generation":2}}'
    assert [each.message for each in done.events] == [text]


def test_one_who_asks_for_nothing_any_more_does_not_wait() -> None:
    """An agent granted it and died before it said so; the next one finds the old word in the API."""
    of = sized("a", 100)
    waiting = conditions.refused(conditions.NONE, "Deferred", "no room", 2, NOW)
    record = PodRecord(pod=of, admission=UNDECIDED, allocation=of_spec(of), resize=waiting)
    let_in = household.settle(EMPTY.with_pods({"a": record}), NOW)
    done = ended(let_in.world, SaveAllocation(uid="a", allocation=of_spec(of)), Done())
    assert done.world.trigger == triggers.PODS_ADDED
    assert household.settle(done.world, NOW).world.pods["a"].resize.pending is None
