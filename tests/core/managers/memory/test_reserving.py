"""What is kept for the system on each NUMA node: checked at start, and following the machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.managers.numa import Gi, Mi, machine, settings

from flexlet.api.quantity import Quantity
from flexlet.core.machine.allocatable import Reservation
from flexlet.core.machine.machine import Machine
from flexlet.core.managers.memory import reserving, tables
from flexlet.core.managers.settings import MEMORY_STATIC, ManagerSettings
from flexlet.errors import ConfigError

TWO = machine(8 * Gi, 8 * Gi)
HALVES = settings(512 * Mi, 512 * Mi)
UNKNOWN = "the reserved memory configuration references a NUMA node 1 that does not exist on this machine"
UNEQUAL = (
    'the total amount "1Gi" of type "memory" is not equal to the value "1124Mi" '
    "determined by Node Allocatable feature"
)
PERCENT = 429496736
"""5% of 8Gi, as a kubelet's single-precision numbers have it."""


def relative(*extra: int) -> ManagerSettings:
    """1Gi is reserved and 5% are kept from eviction; `extra` is what each node has of the latter."""
    written = {node: {"memory": 512 * Mi * 2 // len(extra) + size} for node, size in enumerate(extra)}
    kept = Reservation(kube={"memory": Quantity.of_bytes(Gi)}, eviction_hard={"memory.available": "5%"})
    return ManagerSettings(memory_policy=MEMORY_STATIC, reserved_memory=written, reservation=kept)


def test_what_adds_up_is_taken_as_it_is_written() -> None:
    assert reserving.configured(HALVES, TWO) == {0: {"memory": 512 * Mi}, 1: {"memory": 512 * Mi}}


@pytest.mark.parametrize(
    ("written", "evicting", "on", "words"),
    [
        ((512 * Mi, 512 * Mi), "", machine(8 * Gi), UNKNOWN),
        ((512 * Mi, 512 * Mi), "100Mi", TWO, UNEQUAL),
        ((0,), "", machine(8 * Gi), "[memorymanager] you should specify the system reserved memory"),
    ],
)
def test_what_cannot_work_is_said_in_the_kubelet_s_words(
    written: tuple[int, ...], evicting: str, on: Machine, words: str
) -> None:
    """And what to do about it follows."""
    with pytest.raises(ConfigError) as refused:
        reserving.configured(settings(*written, evicting=evicting), on)
    said, _, remedy = str(refused.value).partition(": ")
    assert said == words
    assert "reservedMemory" in remedy


def test_an_eviction_threshold_in_percent_follows_the_machine() -> None:
    """The one node takes the difference: 8Gi have 7086696032 bytes for pods, 16Gi have 15247133888."""
    config, before, after = relative(PERCENT), machine(8 * Gi), machine(16 * Gi)
    old = tables.empty(before, reserving.configured(config, before))
    new = tables.empty(after, reserving.resized(config, before, after, old))
    assert old[0].tables["memory"].allocatable == 7086696032
    assert new[0].tables["memory"].allocatable == 15247133888


def test_the_difference_falls_on_the_nodes_that_changed_in_proportion() -> None:
    config = relative(PERCENT, PERCENT)
    before, one, both = TWO, machine(8 * Gi, 16 * Gi), machine(9 * Gi, 11 * Gi)
    whole = reserving.needed(config, before)["memory"]
    old = tables.empty(before, {0: {"memory": 512 * Mi}, 1: {"memory": whole - 512 * Mi}})
    grown = reserving.needed(config, one)["memory"] - whole
    assert reserving.resized(config, before, one, old) == {
        0: {"memory": 512 * Mi},
        1: {"memory": whole - 512 * Mi + grown},
    }
    grown = reserving.needed(config, both)["memory"] - whole
    assert reserving.resized(config, before, both, old) == {
        0: {"memory": 512 * Mi + grown // 4},
        1: {"memory": whole - 512 * Mi + grown - grown // 4},
    }


def test_a_node_that_leaves_takes_its_share_and_has_it_again_when_it_returns() -> None:
    old = tables.empty(TWO, reserving.configured(HALVES, TWO))
    alone = machine(8 * Gi)
    shares = reserving.resized(HALVES, TWO, alone, old)
    assert shares == {0: {"memory": 512 * Mi}}
    back = reserving.resized(HALVES, alone, TWO, tables.empty(alone, shares))
    assert back == {0: {"memory": 512 * Mi}, 1: {"memory": 512 * Mi}}


def test_a_new_node_takes_what_the_percentage_adds() -> None:
    config = relative(PERCENT)
    before, after = machine(8 * Gi), machine(8 * Gi, 8 * Gi)
    shares = reserving.resized(config, before, after, tables.empty(before, reserving.configured(config, before)))
    assert shares[0] == {"memory": Gi + PERCENT}
    assert shares[0]["memory"] + shares[1]["memory"] == reserving.needed(config, after)["memory"]


def test_a_node_that_was_resized_starts_again_with_what_its_file_says() -> None:
    """With a threshold in percent the configured sum is that of the first size, and right for no other."""
    config, first, now = relative(PERCENT), machine(8 * Gi), machine(16 * Gi)
    while_up = reserving.resized(config, first, now, tables.empty(first, reserving.configured(config, first)))
    assert reserving.found(config, now, tables.empty(now, while_up)) == while_up
    assert reserving.found(config, now, tables.empty(first, reserving.configured(config, first))) == while_up


def test_a_configured_node_that_left_while_the_agent_was_down_is_no_error() -> None:
    old = tables.empty(TWO, reserving.configured(HALVES, TWO))
    assert reserving.found(HALVES, machine(8 * Gi), old) == {0: {"memory": 512 * Mi}}


def test_a_wrong_sum_stays_an_error_if_the_machine_is_not_to_blame() -> None:
    wrong = settings(512 * Mi, 512 * Mi, evicting="100Mi")
    percent = relative(0)
    for config, on in ((wrong, TWO), (percent, machine(8 * Gi))):
        with pytest.raises(ConfigError, match="is not equal to the value"):
            reserving.found(config, on, tables.empty(on, {}))


@given(st.lists(st.tuples(st.integers(1, 64), st.integers(1, 64)), min_size=1, max_size=4))
def test_growing_and_shrinking_by_as_much_changes_nothing(sizes: list[tuple[int, int]]) -> None:
    before = machine(*(old * 128 * Mi for old, _ in sizes))
    after = machine(*((old + more) * 128 * Mi for old, more in sizes))
    config = relative(*[0] * len(sizes))
    shares = {node.id: {"memory": 512 * Mi} for node in before.numa}
    grown = reserving.resized(config, before, after, tables.empty(before, shares))
    assert reserving.resized(config, after, before, tables.empty(after, grown)) == shares
