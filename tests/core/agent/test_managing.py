"""Who is taken into the managers' books, and when somebody leaves them."""

from msgspec.structs import replace
from tests.core.agent.builders import NOW, container, decided, living, run, runtime
from tests.core.agent.managed import SETTINGS, admitted, arrived, machine, managed, own, sets, sharing

from flexlet.api.units import CpuShares
from flexlet.core.agent import admission, household, managing
from flexlet.core.agent.admission import Admitted, Later, Rejected
from flexlet.core.agent.deeds import SetCpus, StartContainer
from flexlet.core.agent.fold import folded
from flexlet.core.agent.observations import Done, Failed, Finished
from flexlet.core.agent.record import ADMITTED, REJECTED, ImageState, PodRecord
from flexlet.core.agent.world import World
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.resize.allocation import of_spec

PRESENT = {"c": ImageState(ref="sha256:1", for_attempt=0)}
NO_CPUS = "Allocate failed due to not enough cpus available to satisfy request: requested={}, available={}"


def test_whole_cpus_are_given_in_turn_and_the_rest_is_shared() -> None:
    world = admitted(managed(), own("a", 2), sharing("s"), own("b"))
    assert sets(world) == {"": "0", "a": "1-2", "b": "3"}
    records = {uid: (each.admission, sorted(each.exclusive)) for uid, each in world.pods.items()}
    assert records == {"a": (ADMITTED, ["c"]), "b": (ADMITTED, ["c"]), "s": (ADMITTED, [])}


def test_a_node_without_managers_has_no_books() -> None:
    world = admitted(managed(replace(SETTINGS, cpu_policy="none")), own("a", 2))
    assert (sets(world), world.pods["a"].exclusive) == ({"": ""}, frozenset())


def test_who_finds_no_cpu_left_is_refused_with_the_managers_words() -> None:
    before = admitted(managed(), own("a", 2))
    world = household.settle(arrived(before, own("b", 2)), NOW).world
    ending = world.pods["b"].ending
    assert ending is not None
    message = f"Pod was rejected: {NO_CPUS.format(2, 1)}, which is unexpected"
    assert (ending.reason, ending.message) == ("UnexpectedAdmissionError", message)
    assert sets(world) == sets(before)


def test_numa_nodes_that_cannot_be_aligned_refuse() -> None:
    settings = replace(SETTINGS, topology_policy="single-numa-node")
    world = household.settle(arrived(managed(settings, machine(8, 2)), own("a", 5)), NOW).world
    ending = world.pods["a"].ending
    assert ending is not None
    message = "Pod was rejected: Resources cannot be allocated with Topology locality"
    assert (ending.reason, ending.message) == ("TopologyAffinityError", message)


def test_the_managers_are_asked_after_pressure_and_before_room() -> None:
    full = admitted(managed(), own("a", 3))
    wish = PodRecord(pod=own("b", 2))
    pressed = replace(full, pressures=("DiskPressure",))
    assert admission.ask(wish, pressed) == Rejected("Evicted", "The node had condition: [DiskPressure]. ")
    found = admission.ask(wish, full)
    text = f"{NO_CPUS.format(2, 0)}, which is unexpected"
    assert found == Rejected("UnexpectedAdmissionError", text, by_managers=True)


def test_nothing_is_left_of_a_place_if_a_later_check_refuses() -> None:
    shutting = managed(shutting_down=True)
    world = household.settle(arrived(shutting, own("a", 2)), NOW).world
    assert (world.pods["a"].admission, world.managers) == (REJECTED, shutting.managers)


def test_a_place_is_taken_back_if_the_disk_does_not_take_the_grant() -> None:
    before = managed()
    world = admitted(before, own("a", 2), outcome=Failed(message="full"))
    assert world.managers == before.managers
    kept = admitted(before, own("a", 2))
    # One that runs already keeps its CPUs, whatever the disk says.
    again = replace(kept.pods["a"], admission="Undecided")
    refused = admitted(kept.with_pods({"a": again}), outcome=Failed(message="full"))
    assert sets(refused) == {"": "0,3", "a": "1-2"}


def test_who_has_ended_gives_back() -> None:
    world = admitted(managed(), own("a", 2))
    ended = world.with_pods({"a": replace(world.pods["a"], stopped=True)})
    after = household.settle(ended, NOW).world
    assert (sets(after), after.pods["a"].exclusive) == ({"": "0-3"}, frozenset())


def test_strangers_in_the_books_give_back_once_all_pods_were_met() -> None:
    """Before that they may still turn up, and those who would need their CPUs wait."""
    known = admitted(managed(), own("a", 3))
    alone = replace(known.without(["a"]), complete=False)
    assert household.settle(alone, NOW).world == alone
    waiting = arrived(alone, own("b", 2))
    assert admission.ask(waiting.pods["b"], waiting) == Later()
    after = household.settle(replace(waiting, complete=True), NOW).world
    assert sets(after) == {"": "0,3", "b": "1-2"}


def test_cpus_of_a_pod_that_is_leaving_are_waited_for() -> None:
    known = admitted(managed(), own("a", 3))
    waiting = arrived(known, own("b", 2))
    assert isinstance(admission.ask(waiting.pods["b"], waiting), Rejected)
    leaving = waiting.with_pods({"a": replace(waiting.pods["a"], gone=True)})
    assert admission.ask(leaving.pods["b"], leaving) == Later()


def test_who_was_let_in_before_and_is_in_no_book_is_placed_again_or_shares() -> None:
    def returned(world: World, name: str, cpus: int) -> World:
        of = own(name, cpus)
        return world.with_pods({name: PodRecord(pod=of, allocation=of_spec(of))})

    world = household.settle(returned(managed(), "a", 2), NOW).world
    assert sets(world) == {"": "0,3", "a": "1-2"}
    crowded = admitted(managed(), own("x", 3))
    after = household.settle(returned(crowded, "a", 2), NOW).world
    assert (sets(after), after.pods["a"].granted) == (sets(crowded), of_spec(own("a", 2)))


def test_the_gate_gives_exclusive_containers_their_quota_back() -> None:
    world = admitted(managed(), own("a"))
    gates = replace(world.setup.gates, enabled={**world.setup.gates.enabled, managing.NO_QUOTA: False})
    record = world.pods["a"]
    assert managing.exclusive(record, world.setup) == {"c"}
    assert managing.exclusive(record, replace(world.setup, gates=gates)) == frozenset()


def test_a_verdict_carries_the_books() -> None:
    world = managed()
    found = admission.ask(PodRecord(pod=own("a")), arrived(world, own("a")))
    assert isinstance(found, Admitted)
    assert found.managers.cpu.cpus_of("a", "c") is not None


def test_a_container_does_not_start_on_cpus_that_others_are_about_to_leave() -> None:
    world = admitted(managed(), sharing("s"))
    everywhere = RuntimeResources(cpu_shares=CpuShares(2), cpuset_cpus="0-3")
    running = runtime(run(container("c"), resources=everywhere))
    world = world.with_pods({"s": replace(world.pods["s"], shown=running)})
    settled = household.settle(arrived(world, own("a", 2)), NOW)
    (deed,) = [each for each in settled.deeds if isinstance(each, SetCpus)]
    assert (deed.uid, deed.cpus, settled.world.pods["a"].contested) == ("s", "0,3", True)
    waiting = living(own("a", 2), exclusive=frozenset({"c"}), contested=True, images=PRESENT)
    assert waiting.cgroup is not None
    waiting = replace(waiting, cgroup=replace(waiting.cgroup, quota=-1))
    assert decided(waiting).deeds == ()
    assert [type(each) for each in decided(replace(waiting, contested=False)).deeds] == [StartContainer]
    end = Finished(deed=deed, outcome=Done(), began_at=NOW, ended_at=NOW)
    left = folded(settled.world.pods["s"], end, world.setup, NOW).record
    after = household.settle(settled.world.with_pods({"s": left}), NOW).world
    assert not after.pods["a"].contested
