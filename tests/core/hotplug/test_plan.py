"""The steps from one size to another: which ones, in which order, and when there are none."""

import itertools

import pytest
from msgspec.structs import replace
from tests import pods
from tests.core.hotplug import nodes
from tests.core.hotplug.plans import DB, WEB, B, kinds, planned

from flexlet.api.units import GIB, Bytes
from flexlet.core.hotplug.generation import Generation
from flexlet.core.hotplug.plan import NoChange, ResizePlan, plan, remaining
from flexlet.core.hotplug.settings import ResizeSettings
from flexlet.core.hotplug.steps import (
    EndPods,
    HoldPods,
    Publish,
    Release,
    ReportNode,
    Squeeze,
    TuneContainer,
)
from flexlet.core.machine.difference import Change
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.state import Managers
from flexlet.core.resize.allocation import Allocation

LIMIT = {"4Gi": Bytes(3 * GIB), "8Gi": Bytes(7 * GIB), "16Gi": Bytes(15 * GIB)}


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
