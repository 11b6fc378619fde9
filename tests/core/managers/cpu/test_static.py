import msgspec
import pytest
from tests.core.managers.cpu.grounds import book, cpus, ground, machine, only, placed, pod, shown

from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.static import fresh, place, pool, release
from flexlet.core.managers.hints import Hint
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import CpuState, Refusal

SMT = ground(machine(4, 2))


def test_who_shares_changes_nothing() -> None:
    state = fresh(SMT)
    assert placed(state, SMT, pod("p", 0)) is state


def test_asking_again_changes_nothing() -> None:
    """Even where whole cores are the rule and none is free any more."""
    floor = ground(machine(4, 2), "full-pcpus-only", reserve=2)
    claim = pod("p", 6)
    state = book(floor, claim)
    assert place(state, floor, claim, claim.containers[0]) is state


def test_policy_none_manages_nothing() -> None:
    none = Ground(machine(4), ManagerSettings())
    assert fresh(none) == CpuState(policy="none")
    assert placed(fresh(none), none, pod("p", 2)) == CpuState(policy="none")


def test_an_init_container_leaves_its_cpus_to_those_who_follow() -> None:
    state = book(SMT, pod("p", 2, 1, init=(4, 2)))
    assert shown(state) == {
        "p/i0": "1-2,5-6",
        "p/i1": "1,5",
        "p/c0": "1,5",
        "p/c1": "4",
        "shared": "0,3,7",
        "reserved": "0",
    }


def test_a_sidecar_leaves_nothing() -> None:
    state = book(SMT, pod("p", 4, init=(2,), sidecars=(2,)))
    assert shown(state) == {
        "p/i0": "1,5",
        "p/s0": "1,5",
        "p/c0": "2-3,6-7",
        "shared": "0,4",
        "reserved": "0",
    }


def test_init_cpus_do_not_count_as_free_cores() -> None:
    """Six of eight CPUs are with the init container; the next one may not even have two of them, as upstream."""
    floor = ground(machine(4, 2), "full-pcpus-only", reserve=2)
    assert placed(fresh(floor), floor, pod("p", 2, init=(6,))) == Refusal(
        "SMTAlignmentError",
        "SMT Alignment Error: not enough free physical CPUs: "
        "available physical CPUs = 0, requested CPUs = 2, CPUs per core = 2",
    )
    assert shown(book(floor, pod("p", 2, init=(4,))))["p/c0"] == "1,5"


def test_a_hint_is_followed_first() -> None:
    floor = ground(machine(4, 2, 2))
    claim = pod("p", 6)
    near = place(fresh(floor), floor, claim, claim.containers[0], Hint(cpus("1")))
    assert isinstance(near, CpuState)
    assert near.cpus_of("p", "c0") == cpus("4-6,12-14")
    claim = pod("p", 10)
    wide = place(fresh(floor), floor, claim, claim.containers[0], Hint(cpus("1")))
    assert isinstance(wide, CpuState)
    assert wide.cpus_of("p", "c0") == cpus("1,4-7,9,12-15")


@pytest.mark.parametrize(("online", "given"), [("0-7", "1-2,4-5"), ("0-6", "1-2,5-6")])
def test_a_hint_goes_before_whole_cores_unless_half_a_core_is_offline(online: str, given: str) -> None:
    """On node 0 half a core is free, beside a reserved thread; upstream takes it for a pod of whole cores."""
    floor = ground(only(machine(2, 2, 2), cpus(online)), "full-pcpus-only", named="0")
    claim = pod("p", 4)
    after = place(fresh(floor), floor, claim, claim.containers[0], Hint(cpus("0")))
    assert isinstance(after, CpuState)
    assert after.cpus_of("p", "c0") == cpus(given)


def test_a_hint_goes_by_socket_if_alignment_does() -> None:
    of = machine(4, 1, 2, nodes=4)
    claim = pod("p", 3)
    states = [
        place(book(floor, pod("q", 2)), floor, claim, claim.containers[0], Hint(cpus("2")))
        for floor in (ground(of), ground(of, "align-by-socket"))
    ]
    assert [shown(state)["p/c0"] for state in states if isinstance(state, CpuState)] == ["1,4-5", "4-6"]


def test_a_node_too_many_only_shares() -> None:
    floor = ground(machine(2, 1, 2), numa=(0,))
    refused = placed(fresh(floor), floor, pod("p", 2))
    assert isinstance(refused, Refusal)
    assert "requested=2, available=1" in refused.message
    assert shown(book(floor, pod("p", 1))) == {"p/c0": "1", "shared": "0,2-3", "reserved": "0"}


def test_release_of_a_container_keeps_what_a_sibling_holds() -> None:
    state = book(SMT, pod("p", 2, init=(4,)))
    assert shown(release(state, "p", "i0")) == {"p/c0": "1,5", "shared": "0,2-4,6-7", "reserved": "0"}
    assert release(release(state, "p", "i0"), "p", "c0") == fresh(SMT)


def test_release_of_a_pod_leaves_no_trace() -> None:
    state = book(SMT, pod("p", 2), pod("q", 1))
    kept = msgspec.structs.replace(
        state, pod_entries={"p": cpus("1,5")}, baselines={"p": {"c0": cpus("1,5")}, "q": {"c0": cpus("4")}}
    )
    after = release(kept, "p")
    assert shown(after) == {"q/c0": "4", "shared": "0-3,5-7", "reserved": "0"}
    assert (after.pod_entries, after.baselines) == ({}, {"q": {"c0": cpus("4")}})
    assert release(after, "stranger") == after


def test_sharing_goes_on_where_everything_was_given_out() -> None:
    """With strict reservation nothing may be left to share but what is reserved."""
    floor = ground(machine(4), "strict-cpu-reservation")
    state = book(floor, pod("p", 3))
    assert (state.shared, pool(state), pool(fresh(floor))) == (cpus(""), cpus("0"), cpus("1-3"))
