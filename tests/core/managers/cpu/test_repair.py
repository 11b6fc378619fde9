import msgspec
import pytest
from tests.core.managers.cpu.grounds import book, cpus, ground, machine, on, only, pod, shown

from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.outcome import Move, Outcome
from flexlet.core.managers.cpu.repair import rebuild, restore
from flexlet.core.managers.cpu.static import fresh
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import CpuState
from flexlet.errors import ConfigError

FOUR, EIGHT = ground(machine(4)), ground(machine(8))
G2 = pod("g2", 2)
READ = CpuState(policy="static", shared=cpus("0,3"), entries={"g2": {"c0": cpus("1-2")}})


def test_a_book_that_matches_is_left_alone() -> None:
    assert restore(READ, FOUR, [G2]) == Outcome(state=book(FOUR, G2))


def test_cpus_came_while_the_node_was_down() -> None:
    """S8."""
    after = restore(READ, EIGHT, [G2])
    assert shown(after.state) == {"g2/c0": "1-2", "shared": "0,3-7", "reserved": "0"}
    words = 'current set of available CPUs "0-7" doesn\'t match with CPUs in state "0-3"'
    assert after.repairs == (
        f"the state file does not match this machine: {words}",
        "the shared CPUs are 0,3-7 now instead of 0,3",
    )


def test_a_cpu_went_while_the_node_was_down() -> None:
    """S9."""
    after = restore(READ, on(FOUR, only(FOUR.machine, cpus("0-1,3"))), [G2])
    assert shown(after.state) == {"g2/c0": "1,3", "shared": "0", "reserved": "0"}
    assert after.reassigned == (Move("g2", "c0", cpus("1-2"), cpus("1,3")),)
    assert after.repairs[1:] == (
        "container c0 of pod g2 has CPUs 1,3 now instead of 1-2",
        "the shared CPUs are 0 now instead of 0,3",
    )


def test_nothing_known_is_a_fresh_start() -> None:
    assert restore(CpuState(policy="static"), FOUR, []) == Outcome(state=fresh(FOUR))
    none = Ground(machine(4), ManagerSettings())
    assert restore(CpuState(policy="none"), none, []) == Outcome(state=CpuState(policy="none"))


def test_another_policy_begins_anew() -> None:
    words = 'configured policy "static" differs from state checkpoint policy "none": the state is begun anew'
    assert restore(CpuState(policy="none"), FOUR, []) == Outcome(state=fresh(FOUR), repairs=(words,))


def test_settings_that_cannot_work_are_not_mended() -> None:
    unreserved = ground(machine(4), reserve=0)
    with pytest.raises(ConfigError, match="greater than zero"):
        restore(READ, unreserved, [])
    with pytest.raises(ConfigError, match="greater than zero"):
        rebuild({}, unreserved, [])


def test_pods_that_are_gone_hold_nothing() -> None:
    after = restore(READ, FOUR, [])
    assert shown(after.state) == {"shared": "0-3", "reserved": "0"}
    assert after.repairs[0] == "pod g2 is not on this node any more: CPUs 1-2 of container c0 are shared again"
    assert after.writes == ()


def test_a_cpu_of_two_owners_stays_with_the_more_important() -> None:
    double = msgspec.structs.replace(READ, entries={"p": {"c0": cpus("2-3")}, "g2": {"c0": cpus("1-2")}})
    after = restore(msgspec.structs.replace(double, shared=cpus("0,4-7")), EIGHT, [G2, pod("p", 2)])
    assert shown(after.state) == {"g2/c0": "1-2", "p/c0": "3-4", "shared": "0,5-7", "reserved": "0"}


def test_the_shared_set_gives_up_what_is_exclusive() -> None:
    after = restore(msgspec.structs.replace(READ, shared=cpus("0-3")), FOUR, [G2])
    assert shown(after.state) == {"g2/c0": "1-2", "shared": "0,3", "reserved": "0"}


def test_newly_named_reserved_cpus_are_taken_from_who_holds_them() -> None:
    after = restore(READ, ground(machine(4), named="1"), [G2])
    assert shown(after.state) == {"g2/c0": "0,2", "shared": "1,3", "reserved": "1"}


def test_a_reservation_avoids_what_is_held() -> None:
    """The file does not say what was reserved; CPU 0 cannot have been."""
    held = CpuState(policy="static", shared=cpus("2-3"), entries={"p": {"c0": cpus("0-1")}})
    after = restore(held, FOUR, [pod("p", 2)])
    assert shown(after.state) == {"p/c0": "0-1", "shared": "2-3", "reserved": "2"}


def test_a_strict_reservation_is_what_the_file_does_not_know() -> None:
    strict = ground(machine(4), "strict-cpu-reservation")
    odd = CpuState(policy="static", shared=cpus("0,2"), entries={"p": {"c0": cpus("1")}})
    assert shown(restore(odd, strict, [pod("p", 1)]).state) == {"p/c0": "1", "shared": "0,2", "reserved": "3"}
    full = CpuState(policy="static", shared=cpus("0,2-3"), entries={"p": {"c0": cpus("1")}})
    mended = restore(full, strict, [pod("p", 1)])
    assert shown(mended.state) == {"p/c0": "1", "shared": "2-3", "reserved": "0"}


def test_a_node_shrunk_below_its_pods() -> None:
    after = restore(READ, on(FOUR, only(FOUR.machine, cpus("0-1"))), [G2])
    assert shown(after.state) == {"shared": "0-1", "reserved": "0"}
    assert list(after.victims) == ["g2"]
    assert "pod g2 cannot have CPUs of its own any more" in after.repairs


def test_a_spoiled_file_is_rebuilt_from_what_runs() -> None:
    running = {
        "g2": {"c0": cpus("1-2")},
        "wide": {"c0": cpus("0-3")},
        "beside": {"c0": cpus("2-3")},
        "b": {"c0": cpus("0,3")},
        "like-b": {"c0": cpus("0,3")},
    }
    pods = [G2, pod("wide", 1), pod("beside", 2), pod("b", 0), pod("like-b", 2), pod("new", 2)]
    after = rebuild(running, FOUR, pods)
    assert shown(after.state) == {"g2/c0": "1-2", "shared": "0,3", "reserved": "0"}
    assert after.repairs == (
        "container c0 of pod g2 keeps CPUs 1-2",
        "container c0 of pod wide is placed anew: CPUs 0-3 are not the 1 that it asked for",
        "container c0 of pod beside is placed anew: CPUs 2-3 are in part those of another pod",
        "container c0 of pod like-b is placed anew: CPUs 0,3 are those on which others share",
    )
    none = Ground(machine(4), ManagerSettings())
    assert rebuild(running, none, pods) == Outcome(state=CpuState(policy="none"))
