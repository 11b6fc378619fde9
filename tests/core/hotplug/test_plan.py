import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests import pods
from tests.core.hotplug import nodes

from flexlet.api.cpuset import CpuSet
from flexlet.api.units import Bytes
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.plan import NoChange, ResizePlan, late, plan, remaining
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.settling import Situation, still_holds
from flexlet.core.hotplug.steps import (
    EndPods,
    HoldPods,
    PinContainers,
    Publish,
    Release,
    ReportNode,
    ResizeStep,
    SaveManagers,
    Squeeze,
    TuneContainer,
)
from flexlet.core.machine.difference import Change
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.resync import Move, Write, resync
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import CpuState, Managers
from flexlet.core.resize.allocation import Allocation

GIB = 1024**3
B = nodes.tenant("b", "500m,2Gi", ",4Gi")
WEB = nodes.tenant("web", "500m,4Gi", age=1, priority=5, grace_s=40)
DB = nodes.tenant("db", "1,2Gi", "1,2Gi", age=2)
LIMIT = {"4Gi": Bytes(3 * GIB), "8Gi": Bytes(7 * GIB), "16Gi": Bytes(15 * GIB)}


def planned(
    before: Generation, machine: Machine, situation: Situation, unfinished: Generation | None = None
) -> ResizePlan:
    found = plan(before, machine, 100.0, situation, unfinished)
    assert isinstance(found, ResizePlan)
    return found


def kinds(steps: Sequence[ResizeStep]) -> list[str]:
    return [type(each).__name__ for each in steps]


def test_growth_comes_to_pods_before_it_is_told() -> None:
    """S1: parents first, then the books, then the world, then the cluster, then running containers."""
    before, after = nodes.generation(), nodes.machine(8, "16Gi")
    found = planned(before, after, nodes.situation(B, DB))
    following = Generation(
        number=2,
        machine=after,
        changes=(Change("cpu", "increase", 4, 8), Change("memory", "increase", 8 * GIB, 16 * GIB)),
        seen_at=100.0,
    )
    files = {"cpu.weight": "274", "memory.max": "16106127360", "memory.high": "max", "cpuset.cpus": "0-7"}
    assert found == ResizePlan(
        before=before,
        generation=following,
        was=found.was,
        view=found.view,
        steps=(
            HoldPods(path="kubepods", files=files),
            Publish(generation=following, view=found.view, managers=Managers()),
            ReportNode(generation=2),
            TuneContainer(
                uid="b",
                container="c",
                container_id="b-c",
                files={"memory.swap.max": "536870912"},
                before={"memory.swap.max": "1073741824"},
                oom_before=(750,),
                oom_after=875,
            ),
            Release(path="kubepods", squeeze_s=60.0),
        ),
    )


def test_shrinking_squeezes_first_and_limits_last() -> None:
    """§4.1: nothing is lowered that kills before pods have had their time; the least important go first."""
    found = planned(nodes.generation(), nodes.machine(memory="4Gi"), nodes.situation(B, WEB, DB))
    victims = {each.uid: each for each in found.victims}
    assert list(victims) == ["web", "b"]
    assert found.steps == (
        Squeeze(path="kubepods", limit=LIMIT["4Gi"]),
        HoldPods(path="kubepods", files={"cpu.weight": "118", "cpuset.cpus": "0-3"}),
        TuneContainer(
            uid="b",
            container="c",
            container_id="b-c",
            files={"memory.swap.max": "2147483648"},
            before={"memory.swap.max": "1073741824"},
            oom_before=(750,),
            oom_after=500,
        ),
        TuneContainer(
            uid="web",
            container="c",
            container_id="web-c",
            files={"memory.swap.max": "4294967296"},
            before={"memory.swap.max": "2147483648"},
            oom_before=(500,),
            oom_after=3,
        ),
        Publish(generation=found.generation, view=found.view, managers=Managers(), victims=found.victims),
        ReportNode(generation=2, closed=True),
        EndPods(priority=0, victims=(victims["b"],), wait_s=45.0),
        EndPods(priority=5, victims=(victims["web"],), wait_s=45.0),
        Release(
            path="kubepods",
            limit=LIMIT["4Gi"],
            files={"memory.high": "max", "memory.max": str(LIMIT["4Gi"])},
            squeeze_s=60.0,
        ),
    )
    assert [list(each.files) for each in found.steps if isinstance(each, Release)] == [
        ["memory.max", "memory.high"]
    ]
    assert Squeeze(path="kubepods", limit=LIMIT["4Gi"]).files == {"memory.high": str(LIMIT["4Gi"])}


def test_one_reading_may_hold_both_directions() -> None:
    """CPUs come while memory goes: CPUs are given at once, memory is squeezed."""
    found = planned(nodes.generation(), nodes.machine(8, "4Gi"), nodes.situation(B))
    assert kinds(found.steps) == ["Squeeze", "HoldPods", "TuneContainer", "Publish", "ReportNode", "Release"]
    assert found.steps[1] == HoldPods(path="kubepods", files={"cpu.weight": "274", "cpuset.cpus": "0-7"})


def test_under_pressure_pods_get_a_second() -> None:
    found = planned(nodes.generation(), nodes.machine(memory="4Gi"), nodes.situation(B, WEB, pressed=True))
    assert [(each.uid, each.grace_s) for each in found.victims] == [("web", 1)]
    assert [each.wait_s for each in found.steps if isinstance(each, EndPods)] == [10.0]


def test_balloons_pay_with_the_publication() -> None:
    balloon = nodes.tenant("balloon", "1,2Gi", ",2Gi", balloon=True, age=1)
    found = planned(nodes.generation(), nodes.machine(memory="4Gi"), nodes.situation(B, balloon))
    paid = {"balloon": Allocation({"c": pods.resources("1,924Mi", ",924Mi")})}
    assert (found.victims, found.allocations) == ((), paid)
    published = [each for each in found.steps if isinstance(each, Publish)]
    assert [each.allocations for each in published] == [paid]


def test_swap_comes_and_goes_and_nobody_dies() -> None:
    """S10."""
    sizes = [nodes.machine(swap=text) for text in ("4Gi", "0", "8Gi")]
    written = []
    for before, after in itertools.pairwise(sizes):
        found = planned(Generation(number=1, machine=before), after, nodes.situation(B, DB))
        assert found.victims == ()
        written += [each.files for each in found.steps if isinstance(each, TuneContainer)]
    assert written == [{"memory.swap.max": "0"}, {"memory.swap.max": "2147483648"}]


def test_huge_pages_take_memory_from_pods() -> None:
    """S11: the pages are open to pods before they are told; who relied on that memory has to go."""
    huge = {2 * 1024**2: 512}
    assert planned(nodes.generation(), nodes.machine(hugepages=huge), nodes.situation(B)).victims == ()
    late = nodes.tenant("late", ",2Gi", age=9)
    found = planned(nodes.generation(), nodes.machine(hugepages=huge), nodes.situation(WEB, late))
    text = (
        "Node didn't have enough resource: memory, requested: 2147483648, used: 4294967296, capacity: 6337593344"
    )
    assert [each.why for each in found.victims] == [text]
    files = {"hugetlb.2MB.max": "1073741824", "hugetlb.2MB.rsvd.max": "1073741824"}
    held = [each.files for each in found.steps if isinstance(each, HoldPods)]
    assert [{name: each[name] for name in files} for each in held] == [files]
    gone = planned(nodes.generation(hugepages=huge), nodes.machine(hugepages={2 * 1024**2: 0}), nodes.situation(B))
    unlimited = dict.fromkeys(files, str(2**62))
    held = [each.files for each in gone.steps if isinstance(each, HoldPods)]
    assert [{name: each[name] for name in files} for each in held] == [unlimited]


def test_below_its_reservations_a_node_keeps_only_who_asks_for_nothing() -> None:
    """S19."""
    idle, etcd = nodes.tenant("idle", age=3), nodes.tenant("etcd", ",512Mi", static=True)
    found = planned(
        nodes.generation(),
        nodes.machine(memory="1Gi"),
        nodes.situation(B, idle, etcd, critical_usage=Bytes(100 * 1024**2)),
    )
    assert [each.uid for each in found.victims] == ["b"]
    assert found.notes == ("BelowReserved", "CriticalOverCapacity")
    assert found.steps[0] == Squeeze(path="kubepods", limit=Bytes(164 * 1024**2))


def test_what_is_short_changes_with_the_pods() -> None:
    """The static pod that needs too much leaves or comes; the machine is as small as before."""
    etcd, small = nodes.tenant("etcd", ",512Mi", static=True), nodes.machine(memory="1Gi")
    notes = planned(nodes.generation(), small, nodes.situation(etcd)).notes
    assert notes == ("BelowReserved", "CriticalOverCapacity")
    assert remaining(small, nodes.situation(etcd)) == notes
    assert remaining(small, nodes.situation()) == ("BelowReserved",)
    assert remaining(nodes.machine(), nodes.situation(etcd)) == ()


def test_what_is_short_is_told_whatever_else_changes() -> None:
    """Swap goes from a node that is too small for its critical pod already: nobody is asked for room."""
    etcd, small = nodes.tenant("etcd", ",512Mi", static=True), nodes.generation(memory="1536Mi")
    found = planned(small, nodes.machine(memory="1536Mi", swap="0"), nodes.situation(etcd))
    assert (found.victims, found.notes) == ((), ("CriticalOverCapacity",))


def test_growth_ends_nobody_even_on_a_node_that_was_too_small() -> None:
    """An agent that starts on an overfull node touches nothing; more room is no reason to begin with it."""
    people = [nodes.tenant(f"p{number}", ",4Gi", age=number) for number in range(4)]
    found = planned(nodes.generation(), nodes.machine(5, "9Gi"), nodes.situation(*people))
    assert found.victims == ()


@pytest.mark.parametrize(
    ("settings", "machine", "why"),
    [
        (ResizeSettings(), nodes.machine(8), "the feature gate NodeResourceHotPlug is off"),
        (nodes.BOTH, nodes.machine(), "the machine is as it was"),
        (
            ResizeSettings(plug=True),
            nodes.machine(8, "4Gi"),
            "there is less memory, and the feature gate NodeResourceHotUnPlug is off",
        ),
        (
            ResizeSettings(plug=True),
            nodes.machine((0, 1, 2, 4)),
            "there is less cpu, and the feature gate NodeResourceHotUnPlug is off",
        ),
    ],
)
def test_nothing_follows(settings: ResizeSettings, machine: Machine, why: str) -> None:
    """S22: gates off, or nothing happened."""
    assert plan(nodes.generation(), machine, 1.0, nodes.situation(B, resize=settings)) == NoChange(why)


def test_with_plug_alone_growth_is_followed() -> None:
    found = planned(nodes.generation(), nodes.machine(8), nodes.situation(B, resize=ResizeSettings(plug=True)))
    assert found.generation.changes == (Change("cpu", "increase", 4, 8),)


def test_scores_are_left_alone_if_the_operator_says_so() -> None:
    settings = replace(nodes.BOTH, rewrites_oom_scores=False)
    found = planned(nodes.generation(), nodes.machine(memory="16Gi"), nodes.situation(B, resize=settings))
    tuned = [each for each in found.steps if isinstance(each, TuneContainer)]
    assert [(each.files, each.oom_before) for each in tuned] == [({"memory.swap.max": "536870912"}, ())]


def static(reserved: str = "0") -> ManagerSettings:
    return ManagerSettings(cpu_policy="static", reserved_cpus=CpuSet.parse(reserved), reserved_milli=1000)


def books(shared: str, **held: str) -> Managers:
    """Who holds which CPUs; CPU 0 is reserved."""
    entries = {uid: {"c": CpuSet.parse(text)} for uid, text in held.items()}
    cpu = CpuState(policy="static", shared=CpuSet.parse(shared), entries=entries, reserved=CpuSet.of([0]))
    return Managers(cpu=cpu, numa=(0,))


G2 = nodes.tenant("g2", "2,1Gi", "2,1Gi")
X = nodes.tenant("x", "4,9Gi", "4,9Gi", age=1)


def test_the_books_are_saved_before_they_are_used() -> None:
    """S2: X does not fit, so it gives its CPUs back and runs on the shared ones while it lasts."""
    found = planned(
        nodes.generation(cpus=8, memory="16Gi"),
        nodes.machine(4, "8Gi"),
        nodes.situation(G2, B, X, managing=static(), managers=books("0,7", g2="1-2", x="3-6"), resync=resync),
    )
    assert [each.why for each in found.victims] == [
        "Node didn't have enough resource: cpu, requested: 4000, used: 2000, capacity: 3000"
    ]
    after, shared = books("0,3", g2="1-2"), CpuSet.of([0, 3])
    assert found.steps[3:7] == (
        SaveManagers(managers=after),
        PinContainers(cpusets=(Write("b", "c", shared), Write("x", "c", shared))),
        Publish(generation=found.generation, view=found.view, managers=after, victims=found.victims),
        ReportNode(generation=2, closed=True),
    )
    assert [(s.oom_after, s.files) for s in found.steps if isinstance(s, TuneContainer)] == [
        (750, {"memory.swap.max": "1073741824"})
    ]


def test_new_cpus_are_shared() -> None:
    """S1."""
    found = planned(
        nodes.generation(),
        nodes.machine(8),
        nodes.situation(G2, B, managing=static(), managers=books("0,3", g2="1-2"), resync=resync),
    )
    after = books("0,3-7", g2="1-2")
    assert kinds(found.steps) == ["HoldPods", "SaveManagers", "PinContainers", "Publish", "ReportNode", "Release"]
    assert found.steps[1:3] == (
        SaveManagers(managers=after),
        PinContainers(cpusets=(Write("b", "c", CpuSet.parse("0,3-7")),)),
    )


def test_lost_cpus_are_replaced() -> None:
    """S9, with the agent awake; nobody has to go."""
    found = planned(
        nodes.generation(),
        nodes.machine((0, 1, 3)),
        nodes.situation(G2, managing=static(), managers=books("0,3", g2="1-2"), resync=resync),
    )
    move = Move("g2", "c", CpuSet.of([1, 2]), CpuSet.of([1, 3]))
    assert (found.victims, found.reassigned) == ((), (move,))
    assert PinContainers(cpusets=(Write("g2", "c", CpuSet.of([1, 3])),)) in found.steps


def test_whoever_the_managers_cannot_serve_makes_room_for_others() -> None:
    """CPU is tolerated, CPUs of one's own are not: without the one that lost them all others fit."""
    late = nodes.tenant("late", "2,1Gi", "2,1Gi", age=1)
    found = planned(
        nodes.generation(cpus=6),
        nodes.machine(3),
        nodes.situation(
            G2,
            late,
            B,
            managing=static(),
            managers=books("0,5", g2="1-2", late="3-4"),
            resync=resync,
            resize=replace(nodes.BOTH, cpu="Tolerate"),
        ),
    )
    text = "Allocate failed due to not enough cpus available to satisfy request: requested=2, available=0"
    assert [(each.uid, each.reason, each.message) for each in found.victims] == [
        ("late", "UnexpectedAdmissionError", f"Pod was rejected: {text}, which is unexpected")
    ]
    assert found.notes == ("CPUOvercommitted",)


def test_whoever_left_the_books_before_the_agent_died_leaves_the_node_all_the_same() -> None:
    """The books without it were saved; a pod with a claim and without CPUs of its own is what is left to see."""
    late = nodes.tenant("late", "2,1Gi", "2,1Gi", age=1)
    tolerant = replace(nodes.BOTH, cpu="Tolerate")
    shrunk = nodes.situation(
        G2, late, B, managing=static(), managers=books("0", g2="1-2"), resync=resync, resize=tolerant
    )
    again = planned(nodes.generation(cpus=6), nodes.machine(3), shrunk)
    assert [each.uid for each in again.victims] == ["late"]
    room = planned(nodes.generation(cpus=3), nodes.machine(6), shrunk)
    assert room.victims == ()
    assert SaveManagers(managers=books("0,5", g2="1-2", late="3-4")) in room.steps
    no_room = planned(nodes.generation(cpus=3), nodes.machine(4), shrunk)
    assert no_room.victims == (), "growth ends nobody"


def test_what_was_tried_and_given_up_is_taken_back() -> None:
    """8Gi, 4Gi begun and not published, then 8Gi again: the squeeze ends, and containers have what they had."""
    found = plan(nodes.generation(), nodes.machine(), 1.0, nodes.situation(B), None, [nodes.machine(memory="4Gi")])
    assert isinstance(found, ResizePlan)
    assert found.generation == nodes.generation()
    assert kinds(found.steps) == ["HoldPods", "Publish", "ReportNode", "TuneContainer", "Release"]
    assert found.steps[0] == HoldPods(path="kubepods", files=found.view.kubepods)
    tuned = [each for each in found.steps if isinstance(each, TuneContainer)]
    assert [(each.oom_before, each.oom_after, each.files) for each in tuned] == [
        ((500,), 750, {"memory.swap.max": "1073741824"})
    ]
    other = plan(
        nodes.generation(),
        nodes.machine(memory="6Gi"),
        1.0,
        nodes.situation(B),
        None,
        [nodes.machine(memory="4Gi")],
    )
    assert isinstance(other, ResizePlan)
    assert [each.oom_before for each in other.steps if isinstance(each, TuneContainer)] == [(500, 750)]


def test_containers_may_have_values_of_sizes_before() -> None:
    """Those that were just starting when the size changed, and those that did not want to change."""
    sizes = [nodes.machine(memory=text) for text in ("4Gi", "6Gi")]
    found = late(sizes, nodes.machine(), nodes.situation(B))
    assert [(each.oom_before, each.oom_after, each.files) for each in found] == [
        ((500, 667), 750, {"memory.swap.max": "1073741824"})
    ]
    assert late([], nodes.machine(), nodes.situation(B)) == ()
    grown = plan(nodes.generation(), nodes.machine(memory="16Gi"), 1.0, nodes.situation(B), None, (), sizes)
    assert isinstance(grown, ResizePlan)
    assert kinds(grown.steps) == ["HoldPods", "Publish", "ReportNode", "TuneContainer", "Release"]
    assert [each.oom_before for each in grown.steps if isinstance(each, TuneContainer)] == [(500, 667, 750)]


def test_one_cpu_of_its_own_can_be_kept_beside_the_reserved_one() -> None:
    """The last line of §7.3: tolerated, P2 stays with CPU 1."""
    p2 = nodes.tenant("p2", "1,1Gi", "1,1Gi")
    found = planned(
        nodes.generation(),
        nodes.machine(2),
        nodes.situation(
            p2,
            B,
            managing=static(),
            managers=books("0,2-3", p2="1"),
            resync=resync,
            resize=replace(nodes.BOTH, cpu="Tolerate"),
        ),
    )
    assert (found.victims, found.notes) == ((), ("CPUOvercommitted",))
    assert SaveManagers(managers=books("0", p2="1")) in found.steps


def test_safe_pods_are_not_ended_for_the_managers_either() -> None:
    """Critical ones keep what is left; who is leaving anyway is not ended once more."""
    etcd = nodes.tenant("etcd", "2,1Gi", "2,1Gi", static=True)
    going = nodes.tenant("going", "1,1Gi", "1,1Gi", leaving=True)
    found = planned(
        nodes.generation(),
        nodes.machine(2),
        nodes.situation(going, etcd, managing=static(), managers=books("0", etcd="1-2", going="3"), resync=resync),
    )
    assert (found.victims, found.notes) == ((), ("CriticalOverCapacity",))
    assert SaveManagers(managers=books("0", etcd="1")) in found.steps


def test_an_unfinished_generation_is_taken_up_again() -> None:
    """After a crash: the same steps for whoever is still there, under the same number."""
    before, after = nodes.generation(), nodes.machine(memory="4Gi")
    first = planned(before, after, nodes.situation(B, WEB, DB))
    again = planned(before, after, nodes.situation(B, WEB, DB), first.generation)
    tuned = tuple(replace(s, before=s.files) if isinstance(s, TuneContainer) else s for s in first.steps)
    assert again == replace(first, before=first.generation, was=first.view, steps=tuned)
    later = planned(before, after, nodes.situation(DB), first.generation)
    assert (later.generation.number, later.victims, kinds(later.steps)[-1]) == (2, (), "Release")
    assert later.steps[-1] == first.steps[-1]


def test_a_machine_that_grows_back_in_the_middle_spares_who_is_left() -> None:
    """8Gi, 4Gi, and 16Gi before anybody has ended: nothing is squeezed any more, scores of both sizes are ours."""
    before = nodes.generation()
    first = planned(before, nodes.machine(memory="4Gi"), nodes.situation(B, WEB))
    found = planned(before, nodes.machine(memory="16Gi"), nodes.situation(B, WEB), first.generation)
    assert (found.generation.number, found.victims) == (3, ())
    assert found.generation.changes == (Change("memory", "increase", 4 * GIB, 16 * GIB),)
    assert found.steps[0] == HoldPods(path="kubepods", files=found.view.kubepods)
    tuned = [
        (each.uid, each.oom_before, each.oom_after) for each in found.steps if isinstance(each, TuneContainer)
    ]
    assert tuned == [("b", (500, 750), 875), ("web", (3, 500), 750)]
    assert found.steps[-1] == Release(path="kubepods", squeeze_s=60.0)


def test_a_machine_that_grows_back_a_little_is_still_squeezed() -> None:
    before = nodes.generation()
    first = planned(before, nodes.machine(memory="4Gi"), nodes.situation(B, WEB, DB))
    found = planned(before, nodes.machine(memory="6Gi"), nodes.situation(B, WEB, DB), first.generation)
    assert [each.uid for each in found.victims] == ["db", "b"]
    assert found.steps[0] == Squeeze(path="kubepods", limit=Bytes(5 * GIB))


def test_a_shrink_that_is_repeated_ends_only_who_came_in_between() -> None:
    """S5: 8, 4, 16, 4Gi."""
    keeps, late = nodes.tenant("keeps", ",2Gi"), nodes.tenant("late", ",8Gi", age=9)
    small = nodes.generation(memory="4Gi")
    up = planned(small, nodes.machine(memory="16Gi"), nodes.situation(keeps))
    down = planned(up.generation, nodes.machine(memory="4Gi"), nodes.situation(keeps, late))
    assert (up.generation.shrank, down.generation.shrank) == (False, True)
    assert [each.uid for each in down.victims] == ["late"]
    assert down.view == replace(up.was)


SIZES = st.tuples(st.integers(1, 8), st.sampled_from(("2Gi", "4Gi", "8Gi", "16Gi")), st.sampled_from(("0", "4Gi")))


@given(st.lists(SIZES, min_size=2, max_size=5))
def test_wherever_a_plan_is_cut_short_the_end_is_the_same(lives: list[tuple[int, str, str]]) -> None:
    """Sizes follow each other before anything is finished; the last plan leads to what the last size means."""
    machines = [nodes.machine(*each) for each in lives]
    before, unfinished = Generation(number=1, machine=machines[0]), None
    for each in machines[1:]:
        found = plan(before, each, 1.0, nodes.situation(B, WEB, DB), unfinished)
        if isinstance(found, ResizePlan):
            unfinished = found.generation
    if unfinished is None or not isinstance(found, ResizePlan):
        return
    direct = plan(before, machines[-1], 1.0, nodes.situation(B, WEB, DB))
    written: dict[str, str] = {}
    for step in found.steps:
        written |= step.files if isinstance(step, HoldPods | Release | Squeeze) else {}
    assert written == found.view.kubepods
    if isinstance(direct, ResizePlan):
        assert found.view == direct.view


@pytest.mark.parametrize(
    ("now", "holds"),
    [
        (nodes.situation(B, WEB), True),
        (nodes.situation(WEB, B, pressed=True), True),
        (nodes.situation(B), False),
        (nodes.situation(B, WEB, DB), False),
        (nodes.situation(B, replace(WEB, leaving=True)), False),
        (nodes.situation(B, nodes.tenant("web", "500m,5Gi", age=1)), False),
        (nodes.situation(B, WEB, managers=books("0-3")), False),
    ],
)
def test_a_plan_holds_until_somebody_comes_or_goes(now: Situation, holds: bool) -> None:
    """What changes without taking room (a status, the order, pressure) is no reason to plan again."""
    assert still_holds(nodes.situation(B, WEB), now) == holds
