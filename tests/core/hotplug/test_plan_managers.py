"""Plans for a node whose CPU manager gives containers CPUs of their own."""

from msgspec.structs import replace
from tests.core.hotplug import nodes
from tests.core.hotplug.plans import G2, B, books, kinds, planned, static

from flexlet.api.cpuset import CpuSet
from flexlet.core.hotplug.steps import (
    PinContainers,
    Publish,
    ReportNode,
    SaveManagers,
    TuneContainer,
)
from flexlet.core.managers.resync import Move, Write, resync

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
