"""The tables of the memory manager, and how blocks are taken and given back."""

from tests.core.managers.numa import Gi, Mi, machine

from flexlet.core.managers.memory import tables
from flexlet.core.managers.state import Block, MemoryTable, NumaState


def test_a_table_is_the_total_less_the_reservation_less_the_huge_pages() -> None:
    found = tables.empty(machine(8 * Gi, pages={0: 512}), {0: {"memory": 512 * Mi, "hugepages-2Mi": 64 * Mi}})
    assert found == {
        0: NumaState(
            tables={
                "hugepages-2Mi": MemoryTable(
                    total=Gi, system_reserved=64 * Mi, allocatable=960 * Mi, free=960 * Mi
                ),
                "memory": MemoryTable(
                    total=8 * Gi, system_reserved=512 * Mi, allocatable=6656 * Mi, free=6656 * Mi
                ),
            },
            cells=(0,),
        )
    }


def test_a_node_smaller_than_its_reservation_has_nothing() -> None:
    """Upstream wraps around to 18446744073441116160 here."""
    found = tables.empty(machine(256 * Mi), {0: {"memory": 512 * Mi}})
    assert found[0].tables["memory"] == MemoryTable(total=256 * Mi, system_reserved=512 * Mi)


def test_a_group_is_filled_and_emptied_from_its_lowest_node() -> None:
    empty = tables.empty(machine(4 * Gi, 4 * Gi), {})
    first = Block(nodes=(0, 1), type="memory", size=5 * Gi)
    second = Block(nodes=(0, 1), type="memory", size=2 * Gi)
    both = tables.take(tables.take(empty, first), second)
    assert [(both[node].tables["memory"].reserved, both[node].assignments) for node in (0, 1)] == [
        (4 * Gi, 2),
        (3 * Gi, 2),
    ]
    assert both[0].cells == both[1].cells == (0, 1)
    one = tables.give_back(both, second)
    assert [one[node].tables["memory"].reserved for node in (0, 1)] == [2 * Gi, 3 * Gi]
    assert tables.give_back(one, first) == empty


def test_a_node_is_used_alone_or_in_one_group() -> None:
    empty = tables.empty(machine(Gi, Gi, Gi), {})
    alone = tables.take(empty, Block(nodes=(0,), type="memory", size=Mi))
    group = tables.take(empty, Block(nodes=(0, 1), type="memory", size=Mi))
    masks = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)]
    assert [mask for mask in masks if tables.is_open(alone, mask)] == [(0,), (1,), (2,), (1, 2)]
    assert [mask for mask in masks if tables.is_open(group, mask)] == [(2,), (0, 1)]
