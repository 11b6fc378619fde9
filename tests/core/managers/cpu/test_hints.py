"""Figures are those of Kubernetes' own tests: 2 sockets, 3 cores, 2 threads."""

import msgspec
import pytest
from tests.core.managers.cpu.grounds import cpus, ground, machine, pod

from flexlet.core.managers.cpu.ground import Ground
from flexlet.core.managers.cpu.hints import container_hints, needed_at_once, pod_hints
from flexlet.core.managers.hints import Hint
from flexlet.core.managers.settings import ManagerSettings
from flexlet.core.managers.state import CpuState

HERE = ground(machine(3, 2, 2))
EMPTY = CpuState(policy="static", shared=cpus("0-11"))
LEFT, RIGHT, BOTH = (Hint(cpus(nodes)) for nodes in ("0", "1", "0-1"))
WIDE = Hint(cpus("0-1"), preferred=False)


@pytest.mark.parametrize(
    ("count", "shared", "offers"),
    [
        (2, "0-11", (LEFT, RIGHT, WIDE)),
        (5, "0-11", (LEFT, RIGHT, WIDE)),
        (7, "0-11", (BOTH,)),
        (11, "0-11", (BOTH,)),
        (13, "0-11", ()),
        (5, "0-5,8", (WIDE,)),
        (4, "0-2,6,3", (LEFT, WIDE)),
    ],
)
def test_nodes_with_enough_cpus(count: int, shared: str, offers: tuple[Hint, ...]) -> None:
    """Preferred is what is as narrow as it could ever be, even if that is not free now."""
    claim = pod("p", count)
    state = msgspec.structs.replace(EMPTY, shared=cpus(shared))
    assert container_hints(state, HERE, claim, claim.containers[0]) == {"cpu": offers}
    assert pod_hints(state, HERE, claim) == {"cpu": offers}


def test_who_shares_has_no_wish() -> None:
    claim = pod("p", 0)
    assert (container_hints(EMPTY, HERE, claim, claim.containers[0]), pod_hints(EMPTY, HERE, claim)) == ({}, {})
    unmanaged = Ground(HERE.machine, ManagerSettings())
    claim = pod("p", 2)
    assert container_hints(EMPTY, unmanaged, claim, claim.containers[0]) == {}
    assert pod_hints(EMPTY, unmanaged, claim) == {}


def test_what_is_given_out_is_offered_again() -> None:
    claim = pod("p", 2)
    state = CpuState(policy="static", shared=cpus("0-2,4-8,10-11"), entries={"p": {"c0": cpus("3,9")}})
    assert container_hints(state, HERE, claim, claim.containers[0]) == {"cpu": (RIGHT, WIDE)}
    assert pod_hints(state, HERE, claim) == {"cpu": (RIGHT, WIDE)}


def test_what_was_given_out_for_another_request_cannot_be_served() -> None:
    claim = pod("p", 4)
    state = CpuState(policy="static", shared=cpus("0-2,4-8,10-11"), entries={"p": {"c0": cpus("3,9")}})
    assert container_hints(state, HERE, claim, claim.containers[0]) == {"cpu": ()}
    assert pod_hints(state, HERE, claim) == {"cpu": ()}


def test_a_lost_cpu_is_on_no_node() -> None:
    """Upstream would look for it on node 0."""
    claim = pod("p", 2)
    state = CpuState(policy="static", shared=cpus("0-2"), entries={"p": {"c0": cpus("3,99")}})
    assert container_hints(state, HERE, claim, claim.containers[0]) == {"cpu": ()}


def test_cpus_that_are_used_again_bind_to_their_node() -> None:
    """The init container had 1 and 7; whoever follows must be able to use them."""
    claim = pod("p", 2, init=(2,))
    state = CpuState(policy="static", shared=cpus("0,2-6,8-11"), entries={"p": {"i0": cpus("1,7")}})
    assert container_hints(state, HERE, claim, claim.containers[1]) == {"cpu": (LEFT, WIDE)}
    assert pod_hints(state, HERE, pod("p", 4, init=(2,))) == {"cpu": (LEFT, WIDE)}


def test_sockets_instead_of_nodes() -> None:
    """Two nodes on each socket: with align-by-socket two nodes of one socket are as good as one."""
    of = machine(4, 1, 2, nodes=4)
    claim, state = pod("p", 2), CpuState(policy="static", shared=cpus("0-7"))
    by_socket = container_hints(state, ground(of, "align-by-socket"), claim, claim.containers[0])["cpu"] or ()
    by_node = container_hints(state, ground(of), claim, claim.containers[0])["cpu"] or ()
    assert [str(hint.nodes) for hint in by_node if hint.preferred] == ["0", "1", "2", "3"]
    assert [str(hint.nodes) for hint in by_socket if hint.preferred] == ["0", "1", "2", "3", "0-1", "2-3"]


def test_a_node_too_many_offers_nothing() -> None:
    claim = pod("p", 2)
    here = ground(HERE.machine, numa=(0,))
    assert container_hints(EMPTY, here, claim, claim.containers[0]) == {"cpu": (LEFT,)}


@pytest.mark.parametrize(
    ("kinds", "most"),
    [
        ([("init", 2), ("container", 5)], 5),
        ([("init", 5), ("container", 2)], 5),
        ([("sidecar", 1), ("container", 1)], 2),
        ([("init", 5), ("sidecar", 1), ("sidecar", 2), ("sidecar", 3), ("container", 1)], 7),
        ([("init", 5), ("sidecar", 1), ("sidecar", 2), ("init", 5), ("sidecar", 3), ("container", 1)], 8),
        ([("sidecar", 10), ("init", 200), ("container", 100)], 210),
    ],
)
def test_what_a_pod_needs_at_once(kinds: list[tuple[str, int]], most: int) -> None:
    base = pod("p", *(count for _, count in kinds))
    containers = tuple(
        msgspec.structs.replace(each, kind=kind) for each, (kind, _) in zip(base.containers, kinds, strict=True)
    )
    assert needed_at_once(msgspec.structs.replace(base, containers=containers)) == most
