"""One pass over those who wait."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.pods import amounts, container, pod

from flexlet.api.meta import ObjectMeta
from flexlet.api.pod import Pod, PodStatus
from flexlet.api.units import PodUid
from flexlet.core.resize import conditions, events, pending, triggers
from flexlet.core.resize.admit import NodeFacts
from flexlet.core.resize.allocation import of_spec
from flexlet.core.resize.pending import Outcome, PodFacts, Waiting, World
from flexlet.core.resize.verdict import Deferred

T = 1_700_000_000.0
P, Q, R = PodUid("p"), PodUid("q"), PodUid("r")
NODE = NodeFacts(allocatable=amounts("2,2Gi"))


def asking(uid: PodUid, held: str, wanted: str, priority: int | None = None, generation: int = 2) -> PodFacts:
    """A running pod that holds and wants this much cpu."""
    meta = ObjectMeta(name=uid, uid=uid, namespace="default", generation=generation)
    desired = replace(pod(container("c", wanted), priority=priority), metadata=meta)
    return PodFacts(
        replace(desired, status=PodStatus(phase="Running", qos_class="Burstable")),
        of_spec(pod(container("c", held))),
    )


def world(*facts: PodFacts, ready: bool = True) -> World:
    return World(node=NODE, pods={PodUid(each.pod.metadata.uid): each for each in facts}, ready=ready)


def full(requested: int, used: int) -> Deferred:
    text = f"Node didn't have enough resource: cpu, requested: {requested}, used: {used}, capacity: 2000"
    return Deferred("OutOfcpu", text)


def test_a_pass_says_everything_that_follows() -> None:
    """The first is refused, the second granted all the same, the third was reverted."""
    p, q, r = asking(P, "100m", "1900m"), asking(Q, "200m", "300m"), asking(R, "400m", "400m")
    refused = conditions.refused(conditions.NONE, "Deferred", full(1900, 600).message, 2, T)
    assert pending.evaluate(Waiting((P, Q, R)), world(p, q, r), "pod_updated", T) == Outcome(
        waiting=Waiting((P,)),
        wake_at=T + 180,
        granted={Q: of_spec(q.pod)},
        conditions={P: refused, Q: conditions.allocated(2, T), R: conditions.NONE},
        events=(events.refused(p.pod, full(1900, 600)), events.started(q.pod)),
        sync=(P, Q),
    )


def test_a_grant_counts_for_those_behind() -> None:
    p, q = asking(P, "100m", "1200m", priority=1), asking(Q, "100m", "900m")
    outcome = pending.evaluate(Waiting((P, Q)), world(p, q), "pod_updated", T)
    assert outcome.granted == {P: of_spec(p.pod)}
    assert outcome.events[1] == events.refused(q.pod, full(900, 1200))


def test_the_deferred_are_counted_when_granted_and_not_told_twice() -> None:
    p = asking(P, "100m", "1")
    waiting = conditions.refused(conditions.NONE, "Deferred", full(1000, 1500).message, 2, T)
    known = replace(p, conditions=waiting)
    again = pending.evaluate(Waiting((P,)), world(known, asking(Q, "1500m", "1500m")), "periodic_retry", T)
    assert (again.events, again.sync, again.waiting) == ((), (), Waiting((P,)))
    assert pending.evaluate(Waiting((P,)), world(known), "pods_removed", T).accepted == 1


def test_nobody_is_asked_before_all_pods_are_known() -> None:
    p = asking(P, "100m", "1")
    outcome = pending.evaluate(Waiting((P,)), world(p, ready=False), "pods_added", T)
    assert outcome == Outcome(waiting=Waiting((P,)), wake_at=T + 30)


def test_an_empty_list_needs_no_timer() -> None:
    assert pending.evaluate(Waiting(), world(), "pods_removed", T) == Outcome(waiting=Waiting())


def test_the_unknown_the_ended_and_the_leaving_are_dropped() -> None:
    """Their wishes would start resizes that never complete."""
    ended = asking(P, "100m", "200m")
    ended = replace(ended, pod=replace(ended.pod, status=PodStatus(phase="Succeeded")))
    outcome = pending.evaluate(
        Waiting((P, Q, R)), world(ended, replace(asking(Q, "100m", "200m"), leaving=True)), "pods_removed", T
    )
    assert outcome == Outcome(waiting=Waiting())


def test_the_oversized_wait_aside_until_the_node_grows() -> None:
    p = asking(P, "100m", "3")
    outcome = pending.evaluate(Waiting((P,)), world(p), "pod_updated", T)
    assert (outcome.waiting, outcome.infeasible) == (Waiting((), (P,)), ("node_capacity",))
    assert pending.evaluate(outcome.waiting, world(p), "periodic_retry", T).waiting == Waiting((), (P,))
    grown = replace(world(p), node=replace(NODE, allocatable=amounts("4,2Gi")))
    assert pending.evaluate(outcome.waiting, grown, triggers.NODE_RESIZED, T).granted == {P: of_spec(p.pod)}
    assert pending.evaluate(outcome.waiting, world(), "pods_removed", T).waiting == Waiting()


def test_a_victim_is_chosen_once_and_no_longer_asked() -> None:
    critical = asking(P, "100m", "1500m", priority=2_000_000_000)
    victim = asking(Q, "1", "1100m")
    outcome = pending.evaluate(Waiting((P, Q)), world(critical, victim), "pod_updated", T)
    assert outcome == Outcome(
        waiting=Waiting((P,)), wake_at=T + 180, events=(events.preempted(victim.pod),), preempt=(Q,)
    )
    leaving = world(critical, replace(victim, leaving=True))
    assert pending.evaluate(outcome.waiting, leaving, "pod_updated", T) == Outcome(
        waiting=Waiting((P,)), wake_at=T + 180
    )


def test_push_sorts_anew_but_keeps_who_is_there() -> None:
    p, q, r = asking(P, "100m", "200m"), asking(Q, "100m", "200m", priority=5), asking(R, "100m", "50m")
    everybody = world(p, q, r)
    queued = pending.push(pending.push(Waiting((), (Q,)), P, everybody), Q, everybody)
    assert queued == Waiting((Q, P))
    assert pending.push(queued, P, everybody) is queued
    assert pending.push(queued, R, everybody) == Waiting((R, Q, P))
    assert pending.push(queued, R, world(p, r)) == Waiting((R, P))


MILLIS = st.integers(0, 2000).map(lambda milli: f"{milli}m")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(MILLIS, MILLIS), min_size=1, max_size=5))
def test_no_pass_gives_away_more_than_the_node_has(wishes: list[tuple[str, str]]) -> None:
    """Unless more was given away before; then a pass only makes it less. Who is not granted waits."""
    pods = [asking(PodUid(f"p{i}"), held, wanted) for i, (held, wanted) in enumerate(wishes)]
    waiting = Waiting()
    for each in pods:
        waiting = pending.push(waiting, PodUid(each.pod.metadata.uid), world(*pods))
    outcome = pending.evaluate(waiting, world(*pods), "pods_added", T)
    after = {PodUid(each.pod.metadata.uid): each.allocation for each in pods} | outcome.granted
    before, total = (
        sum(each.containers["c"].requests["cpu"].milli for each in group)
        for group in ([each.allocation for each in pods], after.values())
    )
    assert total <= max(2000, before)
    asked = {PodUid(each.pod.metadata.uid) for each in pods if each.allocation != of_spec(each.pod)}
    assert set(outcome.granted) | set(outcome.waiting.queue) == asked


def phase(pod: Pod, phase: str) -> Pod:
    return replace(pod, status=PodStatus(phase=phase))


def test_occasions() -> None:
    """What makes a node ask again, by the names of the metric."""
    small, large = pod(container("c", "100m")), pod(container("c", "200m"))
    level = pod(container("c", "100m"), level=("1", ""))
    assert [triggers.of_update(small, large), triggers.of_update(small, small)] == ["pod_updated", None]
    assert triggers.of_update(small, level) == "pod_updated"
    held = of_spec(small)
    assert triggers.of_status(phase(small, "Running"), phase(small, "Failed"), held) == "pod_terminated"
    assert triggers.of_status(phase(large, "Failed"), phase(large, "Failed"), None) is None
    assert triggers.of_status(phase(large, "Running"), phase(small, "Running"), None) == "pod_resized"
    assert triggers.of_status(phase(large, "Running"), phase(small, "Running"), held) is None
    assert triggers.of_node(amounts("1,2Gi"), amounts("2,1Gi")) == "node_resized"
    assert triggers.of_node(amounts("1,2Gi"), amounts("1,1Gi")) is None
