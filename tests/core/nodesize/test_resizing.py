"""The next resize of a balloon: what always holds, and the turns that need a node that misbehaves."""

from typing import get_args

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.core.nodesize.worlds import NOW, amounts, balloon, scene

from flexlet.api import age
from flexlet.api.units import MIB
from flexlet.core.nodesize import sizes, surplus
from flexlet.core.nodesize.objects import OnInsufficient, Progress
from flexlet.core.nodesize.resizing import Resizing, Turn
from flexlet.core.nodesize.scene import Scene
from flexlet.core.nodesize.sizes import FLOOR, RESOURCES, Amounts

POLICIES = get_args(OnInsufficient)


def turn(stage: Scene, wanted: Amounts, policy: OnInsufficient = "Fail", now: float = NOW) -> Turn:
    return Resizing(stage, wanted, surplus.shares(stage.balloons, wanted), policy, now).turn()


def sizes_between(low: int, high: int) -> st.SearchStrategy[Amounts]:
    """CPUs in quarters, memory in halves of a Gi."""
    return st.builds(
        lambda cpu, memory: sizes.largest({"cpu": cpu * 250, "memory": memory * 512 * MIB}, FLOOR),
        st.integers(low * 4, high * 4),
        st.integers(low * 8, high * 8),
    )


@given(
    wanted=sizes_between(0, 17),
    spec=sizes_between(0, 15),
    allocated=sizes_between(0, 15),
    workload=sizes_between(0, 15),
    policy=st.sampled_from(POLICIES),
    pending=st.sampled_from(["", "Deferred", "Infeasible"]),
)
def test_no_turn_hurts_anybody(
    wanted: Amounts, spec: Amounts, allocated: Amounts, workload: Amounts, policy: OnInsufficient, pending: str
) -> None:
    """Directions are never mixed, nothing goes below the floor, and nobody's room is asked for but by Defer."""
    whole = amounts(15, 60)
    assume(all(allocated[r] + workload[r] <= whole[r] for r in RESOURCES))
    stage = scene(wanted, balloon(spec, allocated, pending=pending), workload=workload)
    for new in turn(stage, wanted, policy).sizes.values():
        up = [r for r in RESOURCES if new[r] > allocated[r]]
        down = [r for r in RESOURCES if new[r] < allocated[r]]
        assert not (up and down)
        assert all(new[r] >= FLOOR[r] for r in RESOURCES)
        assert all(new[r] <= max(wanted[r], allocated[r], spec[r]) for r in RESOURCES)
        for r in up:
            fits = new[r] + workload[r] <= whole[r]
            assert fits or policy == "Defer" or new[r] <= spec[r]


@given(
    wanted=sizes_between(0, 17),
    allocated=sizes_between(0, 15),
    workload=sizes_between(0, 15),
    policy=st.sampled_from(["Fail", "Partial"]),
)
def test_a_node_that_keeps_its_word_is_done_in_a_few_turns(
    wanted: Amounts, allocated: Amounts, workload: Amounts, policy: OnInsufficient
) -> None:
    """Grant what fits, as a node does: after that there is nothing left to do, and what is missing is said."""
    whole = amounts(15, 60)
    assume(all(allocated[r] + workload[r] <= whole[r] for r in RESOURCES))
    pod = balloon(allocated, allocated)
    progress: tuple[Progress, ...] = ()
    for _ in range(8):
        stage = scene(wanted, pod, workload=workload, progress=progress)
        found = turn(stage, wanted, policy)
        progress = tuple(found.progress.values())
        new = found.sizes.get(pod.uid, pod.spec)
        pod = balloon(new, new)
    assert found.sizes == {}
    for r, record in found.progress.items():
        has = (pod.allocated or {})[r]
        assert (has == wanted[r]) == (record.result == "Granted")
        assert has >= min(allocated[r], wanted[r])
        if policy == "Fail":
            assert has in {allocated[r], wanted[r]}


def record(resource: str, wanted: int, since: float = NOW, **parts: object) -> Progress:
    wish = sizes.quantity(resource, wanted)
    base = Progress(resource=resource, wanted=wish, requested=wish, direction="Inflate", result="Pending")
    return msgspec.structs.replace(base, since=age.format_micro(since), **parts)


def test_a_silent_node_is_waited_for_half_a_minute() -> None:
    """It may just be busy; what it was not asked to give it cannot have refused."""
    wanted, has = amounts(7, 28), amounts(3, 12)
    records = (record("cpu", 7000), record("memory", wanted["memory"]))
    stage = scene(wanted, balloon(wanted, has), workload=amounts(5, 20), progress=records)
    waiting = turn(stage, wanted, now=NOW + 29.9)
    assert (waiting.sizes, waiting.wake_at) == ({}, NOW + 30)
    given_up = turn(stage, wanted, now=NOW + 30)
    assert given_up.sizes == {"uid-b": has}
    assert {r.result for r in given_up.progress.values()} == {"Refused"}
    assert given_up.progress["cpu"].message == "the node did not answer within 30 s"


def test_two_resources_that_are_refused_together_are_tried_apart() -> None:
    wanted, has = amounts(7, 28), amounts(3, 12)
    records = (record("cpu", 7000), record("memory", wanted["memory"]))
    both = scene(wanted, balloon(wanted, has, pending="Deferred"), workload=amounts(5, 20), progress=records)
    first = turn(both, wanted, now=NOW + 1)
    assert first.sizes == {"uid-b": amounts(7, 12)}
    alone = balloon(amounts(7, 12), has, pending="Deferred", message="no")
    second = turn(
        scene(wanted, alone, workload=amounts(5, 20), progress=tuple(first.progress.values())), wanted, now=NOW + 2
    )
    assert second.sizes == {"uid-b": has}
    assert (second.progress["cpu"].result, second.progress["memory"].result) == ("Refused", "Pending")
    settled = scene(wanted, balloon(has, has), workload=amounts(5, 20), progress=tuple(second.progress.values()))
    assert turn(settled, wanted, now=NOW + 2).sizes == {"uid-b": amounts(3, 28)}


def test_partial_halves_what_a_node_refuses_and_stops() -> None:
    """The API shows room that the node does not have: four halvings, then it is over."""
    wanted, has = amounts(3, 28), amounts(3, 12)
    pod = balloon(has, has)
    progress: tuple[Progress, ...] = ()
    asked = []
    for second in range(8):
        stage = scene(wanted, pod, workload=amounts(5, 20), progress=progress)
        found = turn(stage, wanted, "Partial", NOW + second)
        progress = tuple(found.progress.values())
        new = found.sizes.get(pod.uid, pod.spec)
        asked += [(new["memory"] - has["memory"]) // MIB] if found.sizes else []
        pod = balloon(new, has, pending="Deferred" if new != has else "")
    assert asked == [16384, 8192, 4096, 2048, 1024, 0]
    assert found.progress["memory"].result == "Refused"


def test_a_refusal_of_the_server_ends_a_resize_in_either_direction() -> None:
    has = amounts(3, 12)
    for wanted, direction in ((amounts(7, 28), "Inflate"), (amounts(1, 4), "Deflate")):
        stage = scene(wanted, balloon(has, has), workload=amounts(5, 20))
        refused = turn(msgspec.structs.replace(stage, refusal="exceeded quota"), wanted)
        assert refused.sizes == {}
        assert {(r.direction, r.result, r.message) for r in refused.progress.values()} == {
            (direction, "Refused", "exceeded quota")
        }
        after = scene(
            wanted, balloon(has, has), workload=amounts(5, 20), progress=tuple(refused.progress.values())
        )
        assert turn(after, wanted).sizes == {}


def test_a_newer_target_takes_the_place_of_a_wish_that_waits() -> None:
    has, old, new = amounts(3, 12), amounts(9, 12), amounts(10, 12)
    records = (record("cpu", 9000, result="Deferred"), record("memory", has["memory"], result="Granted"))
    pod = balloon(old, has, pending="Deferred")
    assert turn(scene(new, pod, workload=amounts(8, 20), progress=records), new, "Defer").sizes == {"uid-b": has}
    assert turn(scene(has, pod, workload=amounts(8, 20), progress=records), has, "Defer").sizes == {"uid-b": has}


def test_a_deflate_takes_an_inflate_that_waits_back_with_it() -> None:
    has, wanted = amounts(7, 12), amounts(3, 28)
    stage = scene(wanted, balloon(amounts(7, 28), has, pending="Deferred"), workload=amounts(5, 40))
    assert turn(stage, wanted, "Defer").sizes == {"uid-b": amounts(3, 12)}


def test_what_fits_does_not_wait_with_what_does_not() -> None:
    has, wanted = amounts(3, 12), amounts(7, 28)
    records = (record("cpu", 7000, result="Deferred"), record("memory", wanted["memory"], result="Deferred"))
    stage = scene(wanted, balloon(wanted, has, pending="Deferred"), workload=amounts(5, 40), progress=records)
    assert turn(stage, wanted, "Defer").sizes == {"uid-b": amounts(7, 12)}


def test_a_deflate_that_can_never_be_granted_is_given_up() -> None:
    has, wanted = amounts(7, 28), amounts(3, 12)
    pod = balloon(wanted, has, pending="Infeasible", message="In-place resize of containers with swap")
    found = turn(scene(wanted, pod, workload=amounts(5, 20)), wanted)
    assert found.sizes == {"uid-b": has}
    assert {r.result for r in found.progress.values()} == {"Refused"}


def test_an_old_answer_is_not_taken_for_a_new_one() -> None:
    """A kubelet of 1.33 does not say which request it answers: its answer has to go away first."""
    has, wanted = amounts(3, 12), amounts(7, 28)
    pod = balloon(has, has, pending="Deferred")
    waiting = turn(scene(wanted, pod, workload=amounts(5, 20)), wanted)
    assert (waiting.sizes, waiting.wake_at) == ({}, NOW + 5)
    records = tuple(waiting.progress.values())
    late = turn(scene(wanted, pod, workload=amounts(5, 20), progress=records), wanted, now=NOW + 5)
    assert late.sizes == {"uid-b": wanted}


def test_what_a_node_grants_too_late_is_taken_back_for_good() -> None:
    """The node was silent, the inflate was withdrawn, and only then granted."""
    has, wanted = amounts(3, 12), amounts(7, 28)
    records = given_up(wanted, has)
    late = scene(wanted, balloon(has, wanted), workload=amounts(5, 20), progress=records)
    assert turn(late, wanted).sizes == {}
    settled = scene(wanted, balloon(has, has), workload=amounts(5, 20), progress=records)
    assert turn(settled, wanted).sizes == {}


def test_less_that_somebody_asked_for_in_vain_is_taken_back_with_what_was_more() -> None:
    """Their request for more CPU and less memory waits as a whole; it was never our wish that memory be less."""
    has, wanted = amounts(3, 28), amounts(7, 50)
    asked = balloon(amounts(4, 10), has, pending="Deferred")
    found = turn(scene(wanted, asked, workload=amounts(12, 20), progress=given_up(wanted, has)), wanted)
    assert found.sizes == {"uid-b": has}


def given_up(wanted: Amounts, has: Amounts) -> tuple[Progress, ...]:
    """The records of an inflate that came to nothing."""
    kept = {r: sizes.quantity(r, has[r]) for r in RESOURCES}
    return tuple(record(r, wanted[r], NOW - 9, result="Refused", requested=kept[r]) for r in RESOURCES)
