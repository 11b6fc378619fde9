"""Which NUMA nodes alignment works with."""

from tests.core.managers.numa import Gi, machine

from flexlet.core.managers.settings import BEST_EFFORT, ManagerSettings
from flexlet.core.managers.topology.nodes import aligned, is_too_wide

ALIGNING = ManagerSettings(topology_policy=BEST_EFFORT)


def test_nodes_without_cpus_count() -> None:
    assert aligned(ALIGNING, machine(Gi, Gi, 0)) == (0, 1, 2)


def test_a_machine_that_grows_too_wide_keeps_its_nodes() -> None:
    """Upstream does not start on more than eight nodes; a running node goes on with those that it had."""
    wide = machine(*[Gi] * 9)
    assert is_too_wide(ALIGNING, wide)
    assert aligned(ALIGNING, wide, before=(1, 2, 3, 4, 5, 6, 7, 8)) == (1, 2, 3, 4, 5, 6, 7, 8)
    assert aligned(ALIGNING, wide) == (0, 1, 2, 3, 4, 5, 6, 7)


def test_the_limit_can_be_raised() -> None:
    raised = ManagerSettings(topology_policy=BEST_EFFORT, max_numa_nodes=9)
    assert aligned(raised, machine(*[Gi] * 9)) == tuple(range(9))


def test_without_alignment_there_is_no_limit_and_empty_nodes_do_not_matter_on_a_wide_machine() -> None:
    wide = machine(Gi, Gi, *[0] * 30)
    assert not is_too_wide(ManagerSettings(), wide)
    assert aligned(ManagerSettings(), wide) == (0, 1)
