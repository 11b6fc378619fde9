"""The sequences of node-resize.md §7.2 as far as they concern CPUs, and the corners of §4.6, §5.3, §5.4."""

import msgspec
import pytest
from tests.core.managers.cpu.grounds import book, cpus, ground, machine, on, only, placed, pod, shown

from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.outcome import Move, Outcome, Write
from flexlet.core.managers.cpu.refusals import not_enough, not_enough_cores
from flexlet.core.managers.cpu.resync import resync
from flexlet.core.managers.cpu.static import fresh
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import CpuState
from flexlet.core.managers.topology.refusals import NOT_ALIGNED

FOUR, EIGHT = ground(machine(4)), ground(machine(8))
G2, B, X = pod("g2", 2), pod("b", 0), pod("x", 4)


def test_plug_unplug_plug() -> None:
    """S1, S2, S3: X gets its CPUs after the plug and loses its place by fit; then all is as it was."""
    grown = resync(book(FOUR, G2), EIGHT, [G2, B])
    shares = cpus("0,3-7")
    assert shown(grown.state) == {"g2/c0": "1-2", "shared": "0,3-7", "reserved": "0"}
    assert grown == Outcome(state=grown.state, writes=(Write("b", "c0", shares),))
    with_x = placed(grown.state, EIGHT, X)
    assert isinstance(with_x, CpuState)
    assert shown(with_x) == {"g2/c0": "1-2", "x/c0": "3-6", "shared": "0,7", "reserved": "0"}
    shrunk = resync(with_x, FOUR, [G2, B])
    assert shown(shrunk.state) == {"g2/c0": "1-2", "shared": "0,3", "reserved": "0"}
    assert (shrunk.reassigned, shrunk.victims) == ((), {})
    again = resync(shrunk.state, EIGHT, [G2, B])
    assert again.state == grown.state


def test_as_many_cpus_and_yet_others() -> None:
    """S12: CPU 3 goes, CPU 4 comes."""
    five = machine(5)
    before = ground(only(five, cpus("0-3")))
    after = resync(book(before, G2), on(before, only(five, cpus("0-2,4"))), [G2])
    assert shown(after.state) == {"g2/c0": "1-2", "shared": "0,4", "reserved": "0"}


def test_a_thread_goes_and_the_reservation_stays() -> None:
    """S13: never 0 or 4."""
    whole = ground(machine(4, 2), reserve=2)
    here = on(whole, only(whole.machine, cpus("0-6")))
    state = resync(fresh(whole), here, []).state
    assert shown(state) == {"shared": "0-6", "reserved": "0,4"}
    for uid in ("p", "q"):
        after = placed(state, here, pod(uid, 2))
        assert isinstance(after, CpuState)
        state = after
    assert shown(state) == {"p/c0": "1,5", "q/c0": "2,6", "shared": "0,3-4", "reserved": "0,4"}


def test_a_lost_cpu_is_replaced_and_others_shrink_first() -> None:
    here = on(FOUR, only(FOUR.machine, cpus("0-1,3")))
    after = resync(book(FOUR, G2), here, [G2, B])
    assert after == Outcome(
        state=CpuState(policy="static", shared=cpus("0"), reserved=cpus("0"), entries={"g2": {"c0": cpus("1,3")}}),
        reassigned=(Move("g2", "c0", cpus("1-2"), cpus("1,3")),),
        writes=(Write("b", "c0", cpus("0")), Write("g2", "c0", cpus("1,3"))),
    )


def test_replacements_come_from_the_same_node() -> None:
    """CPU 7 was on node 1: there it is replaced, though node 0 has CPUs of lower number."""
    whole = ground(machine(4, 1, 2))
    state = CpuState(policy="static", shared=cpus("0-6"), reserved=cpus("0"), entries={"p": {"c0": cpus("7")}})
    here = on(whole, only(whole.machine, cpus("0-6")))
    known = resync(state, here, [pod("p", 1)], before=whole.machine)
    assert known.state.cpus_of("p", "c0") == cpus("4")
    unknown = resync(state, here, [pod("p", 1)])
    assert len(unknown.state.cpus_of("p", "c0") or ()) == 1


@pytest.mark.parametrize("policy", ["restricted", "single-numa-node"])
def test_replacements_do_not_break_an_alignment_that_is_insisted_on(policy: str) -> None:
    """CPU 7 is gone and node 1 has no other: CPUs of node 0 are no replacement."""
    whole = ground(machine(4, 1, 2))
    strict = Ground(whole.machine, msgspec.structs.replace(whole.settings, topology_policy=policy))
    here = on(strict, only(whole.machine, cpus("0-6")))
    state = CpuState(policy="static", shared=cpus("0-3"), reserved=cpus("0"), entries={"p": {"c0": cpus("4-7")}})
    found = resync(state, here, [pod("p", 4)], before=whole.machine)
    assert (found.victims, found.state.shared) == ({"p": NOT_ALIGNED}, cpus("0-6"))
    loose = resync(state, on(whole, here.machine), [pod("p", 4)], before=whole.machine)
    assert (loose.victims, loose.state.cpus_of("p", "c0")) == ({}, cpus("1,4-6"))


def test_who_must_stay_aligned_takes_the_place_of_the_less_important_there() -> None:
    whole = ground(machine(4, 1, 2))
    strict = Ground(whole.machine, msgspec.structs.replace(whole.settings, topology_policy="single-numa-node"))
    here = on(strict, only(whole.machine, cpus("0-6")))
    entries = {"p": {"c0": cpus("6-7")}, "q": {"c0": cpus("4-5")}}
    state = CpuState(policy="static", shared=cpus("0-3"), reserved=cpus("0"), entries=entries)
    found = resync(state, here, [pod("p", 2), pod("q", 2)], before=whole.machine)
    assert (list(found.victims), found.state.cpus_of("p", "c0")) == (["q"], cpus("4,6"))


def test_a_broken_core_is_replaced_whole() -> None:
    """full-pcpus-only: CPU 5 goes, so CPU 1 is given up too."""
    whole = ground(machine(4, 2), "full-pcpus-only", reserve=2)
    claim = pod("p", 2, init=(4,))
    state = book(whole, claim)
    assert shown(state)["p/c0"] == "1,5"
    after = resync(state, on(whole, only(whole.machine, cpus("0-4,6-7"))), [claim])
    assert shown(after.state) == {
        "p/i0": "2-3,6-7",
        "p/c0": "3,7",
        "shared": "0-1,4",
        "reserved": "0,4",
    }


def test_no_whole_core_left() -> None:
    whole = ground(machine(4, 2), "full-pcpus-only", reserve=2)
    claims = [pod("p", 2), pod("q", 2), pod("r", 2)]
    after = resync(book(whole, *claims), on(whole, only(whole.machine, cpus("0-6"))), [claims[2], *claims[:2]])
    assert after.victims == {"q": not_enough(2, 1)}
    assert shown(after.state) == {"p/c0": "1,5", "r/c0": "2,6", "shared": "0,3-4", "reserved": "0,4"}
    after = resync(book(whole, *claims), on(whole, only(whole.machine, cpus("0-6"))), claims)
    assert after.victims == {"r": not_enough_cores(2, 0, 2)}


def test_the_least_important_pod_gives_way() -> None:
    """Three pods of one CPU, one CPU goes: the last in order is the victim, whoever lost the CPU."""
    claims = [pod("p", 1), pod("q", 1), pod("r", 1), B]
    here = on(FOUR, only(FOUR.machine, cpus("0,2-3")))
    after = resync(book(FOUR, *claims), here, claims)
    assert shown(after.state) == {"p/c0": "3", "q/c0": "2", "shared": "0", "reserved": "0"}
    assert after.victims == {"r": not_enough(1, 0)}
    assert after.writes == (Write("r", "c0", cpus("0")), Write("p", "c0", cpus("3")))


def test_nobody_more_important_gives_way() -> None:
    claims = [pod("p", 1), pod("q", 1), pod("r", 1)]
    after = resync(book(FOUR, *claims), on(FOUR, only(FOUR.machine, cpus("0-2"))), claims)
    assert after.victims == {"r": not_enough(1, 0)}
    assert shown(after.state) == {"p/c0": "1", "q/c0": "2", "shared": "0", "reserved": "0"}


def test_only_as_many_victims_as_are_needed() -> None:
    """The last pod has one CPU and two are missing: the pod before it has both, so the last may stay."""
    claims = [pod("p", 2), pod("q", 2), pod("r", 1)]
    whole = ground(machine(6))
    after = resync(book(whole, *claims), on(whole, only(whole.machine, cpus("0,3-5"))), claims)
    assert after.victims == {"q": not_enough(2, 0)}
    assert shown(after.state) == {"p/c0": "3-4", "r/c0": "5", "shared": "0", "reserved": "0"}


def test_nobody_dies_for_a_pod_that_cannot_be_saved() -> None:
    claims = [pod("p", 3), pod("q", 1)]
    whole = ground(machine(5))
    after = resync(book(whole, *claims), on(whole, only(whole.machine, cpus("0-1,4"))), claims)
    assert after.victims == {"p": not_enough(3, 1)}
    assert shown(after.state) == {"q/c0": "4", "shared": "0-1", "reserved": "0"}


def test_a_safe_pod_keeps_what_is_left() -> None:
    claims = [pod("p", 2), pod("q", 1)]
    here = on(FOUR, only(FOUR.machine, cpus("0-1,3")))
    safe = frozenset({"p", "q"})
    after = resync(book(FOUR, *claims), here, claims, safe=safe)
    assert (after.victims, after.reassigned) == ({}, (Move("p", "c0", cpus("1-2"), cpus("1")),))
    assert shown(after.state) == {"p/c0": "1", "q/c0": "3", "shared": "0", "reserved": "0"}
    bare = resync(book(FOUR, *claims), on(FOUR, only(FOUR.machine, cpus("0,3"))), claims, safe=safe)
    assert shown(bare.state) == {"q/c0": "3", "shared": "0", "reserved": "0"}
    assert bare.writes == (Write("p", "c0", cpus("0")),)


def test_reserved_cpus_are_made_up_for() -> None:
    """CPU 0 goes: the next lowest is reserved instead, and stays so when CPU 0 returns."""
    here = on(FOUR, only(FOUR.machine, cpus("1-3")))
    without = resync(fresh(FOUR), here, [])
    assert without == Outcome(state=CpuState(policy="static", shared=cpus("1-3"), reserved=cpus("1")))
    assert shown(resync(without.state, FOUR, []).state) == {"shared": "0-3", "reserved": "1"}


def test_named_reserved_cpus_are_missed_until_they_return() -> None:
    named = ground(machine(4), named="0-1")
    without = resync(book(named, pod("p", 1)), on(named, only(named.machine, cpus("1-3"))), [pod("p", 1)])
    assert without.notes == ("ReservedCPUsMissing",)
    assert shown(without.state) == {"p/c0": "2", "shared": "1,3", "reserved": "1"}
    again = resync(without.state, named, [pod("p", 1)])
    assert (again.notes, again.state) == ((), book(named, pod("p", 1)))


def test_somebody_goes_if_nothing_is_left_to_share() -> None:
    claims = [pod("p", 1), pod("q", 2)]
    here = on(FOUR, only(FOUR.machine, cpus("1-3")))
    after = resync(book(FOUR, *claims), here, claims)
    assert after.victims == {"q": not_enough(2, 0)}
    assert shown(after.state) == {"p/c0": "1", "shared": "2-3", "reserved": "2"}


def test_strict_reservation_shares_the_reserved_cpus_at_last() -> None:
    strict = ground(machine(4), "strict-cpu-reservation")
    claims = [pod("p", 2), B]
    after = resync(book(strict, *claims), on(strict, only(strict.machine, cpus("0-2"))), claims)
    assert shown(after.state) == {"p/c0": "1-2", "shared": "", "reserved": "0"}
    assert after.writes == (Write("b", "c0", cpus("0")),)


def test_pods_that_nobody_knows_give_their_cpus_back() -> None:
    after = resync(book(FOUR, G2), FOUR, [B])
    assert shown(after.state) == {"shared": "0-3", "reserved": "0"}


def test_what_a_kubelet_wrote_besides_follows() -> None:
    """Baselines and pods' own CPUs lose what is gone and get what replaced it."""
    state = msgspec.structs.replace(
        book(FOUR, G2), baselines={"g2": {"c0": cpus("2")}}, pod_entries={"g2": cpus("1-2")}
    )
    after = resync(state, on(FOUR, only(FOUR.machine, cpus("0-1,3"))), [G2]).state
    assert (after.baselines, after.pod_entries) == ({"g2": {"c0": cpus("3")}}, {"g2": cpus("1,3")})
    assert resync(state, EIGHT, [G2]).state == msgspec.structs.replace(state, shared=cpus("0,3-7"))


def test_policy_none_has_nothing_to_follow() -> None:
    none = Ground(machine(4), ManagerSettings())
    assert resync(CpuState(), none, [G2]) == Outcome(state=CpuState())
