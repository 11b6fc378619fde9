from hypothesis import given
from hypothesis import strategies as st

from flexlet.api.units import GIB, MIB
from flexlet.core.lab import plans
from flexlet.core.lab.devices import CpuSlot, Dimm, Memory, VirtioMem, present
from flexlet.core.lab.plans import Refused
from flexlet.core.lab.spec import MEMORY_STEP

BLOCK = 2 * MIB


def slots(taken: set[int], total: int = 8) -> tuple[CpuSlot, ...]:
    return tuple(
        CpuSlot("cpu", {"socket-id": n}, f"/machine/peripheral/vcpu-{n}-0-0" if n in taken else "")
        for n in reversed(range(total))
    )


def memory(*dimms: Dimm, requested: int = 0, spare: int = 14 * GIB) -> Memory:
    return Memory(2 * GIB, dimms, VirtioMem(requested, requested, spare, BLOCK) if spare else None)


def refusal(answer: object) -> str:
    assert isinstance(answer, Refused)
    return answer.reason


def sockets(answer: object) -> list[int]:
    assert isinstance(answer, tuple)
    return [slot.socket for slot in answer]


def test_the_lowest_free_slots_are_plugged() -> None:
    assert sockets(plans.cpus_to_plug(slots({0, 1, 3}), 2)) == [2, 4]


def test_more_cpus_than_slots_are_refused() -> None:
    assert plans.cpus_to_plug(slots({0, 1}, total=4), 3) == Refused(
        "NoFreeSlot",
        "cannot plug 3 CPUs: 2 of 4 slots are free; create the machine with more --max-cpus",
    )


def test_cpus_go_highest_first_and_the_boot_cpu_never() -> None:
    assert sockets(plans.cpus_to_unplug(slots({0, 2, 5}), 1)) == [5, 2]
    assert refusal(plans.cpus_to_unplug(slots({0, 2, 5}), 3)) == "TooFew"


def test_memory_is_plugged_as_small_modules() -> None:
    """Only whole modules come out again."""
    assert plans.dimms_to_plug(memory(Dimm(0, GIB), Dimm(2, GIB)), 2 * GIB + 512 * MIB) == (
        Dimm(1, GIB),
        Dimm(3, GIB),
        Dimm(4, 512 * MIB),
    )


def test_with_few_slots_left_one_big_module_is_made() -> None:
    taken = [Dimm(slot, 128 * MIB) for slot in range(plans.DIMM_SLOTS - 1)]
    assert plans.dimms_to_plug(memory(*taken), 3 * GIB) == (Dimm(plans.DIMM_SLOTS - 1, 3 * GIB),)
    full = [*taken, Dimm(plans.DIMM_SLOTS - 1, 128 * MIB)]
    assert refusal(plans.dimms_to_plug(memory(*full), GIB)) == "NoFreeSlot"


def test_the_maximum_counts_both_kinds_of_memory() -> None:
    """Elastic memory that the guest has not taken yet counts too: it may take it at any moment."""
    held = Memory(2 * GIB, (Dimm(0, GIB),), VirtioMem(12 * GIB, 0, 14 * GIB, BLOCK))
    assert plans.dimms_to_plug(held, GIB) == (Dimm(1, GIB),)
    assert plans.dimms_to_plug(held, 2 * GIB) == Refused(
        "BeyondMaximum", "cannot plug 2Gi: 1Gi is left below the machine's maximum of 16Gi"
    )
    assert refusal(plans.elastic_size(held, 2 * GIB)) == "BeyondMaximum"


def test_sizes_that_do_not_fit_blocks_are_refused() -> None:
    assert plans.dimms_to_plug(memory(), GIB + MIB) == Refused("NotAligned", "1025Mi is not a multiple of 128Mi")
    assert refusal(plans.dimms_to_unplug(memory(), MIB)) == "NotAligned"
    assert refusal(plans.elastic_size(memory(), MIB)) == "NotAligned"
    assert refusal(plans.elastic_size(memory(requested=GIB), -MIB)) == "NotAligned"


def test_elastic_memory_is_asked_for_its_new_size() -> None:
    assert plans.elastic_size(memory(requested=GIB), 6 * MIB) == GIB + 6 * MIB
    assert plans.elastic_size(memory(requested=GIB), -GIB) == 0
    assert refusal(plans.elastic_size(memory(requested=GIB), -2 * GIB)) == "TooLittle"
    assert refusal(plans.elastic_size(memory(spare=0), GIB)) == "NoElasticMemory"


def test_modules_come_out_when_they_add_up() -> None:
    plugged = memory(Dimm(0, GIB), Dimm(1, GIB), Dimm(2, 512 * MIB))
    assert plans.dimms_to_unplug(plugged, GIB) == (Dimm(1, GIB),)
    assert plans.dimms_to_unplug(plugged, GIB + 512 * MIB) == (Dimm(2, 512 * MIB), Dimm(1, GIB))
    assert plans.dimms_to_unplug(plugged, 0) == ()
    assert plans.dimms_to_unplug(plugged, 768 * MIB) == Refused(
        "NoSuchModules", "no modules add up to 768Mi: possible are 512Mi, 1Gi, 1536Mi, 2Gi, 2560Mi"
    )
    assert plans.dimms_to_unplug(memory(), GIB) == Refused(
        "NoSuchModules", "no modules add up to 1Gi: none is plugged"
    )


def test_a_spare_module_has_the_same_size_and_was_not_tried() -> None:
    plugged = memory(Dimm(0, GIB), Dimm(1, 2 * GIB), Dimm(2, GIB), Dimm(3, GIB))
    assert plans.spare(plugged, Dimm(3, GIB), {Dimm(3, GIB)}) == Dimm(2, GIB)
    assert plans.spare(plugged, Dimm(1, 2 * GIB), {Dimm(1, 2 * GIB)}) is None


steps = st.integers(1, 24).map(lambda count: count * MEMORY_STEP)
modules = st.dictionaries(st.integers(0, plans.DIMM_SLOTS - 1), steps, max_size=8).map(
    lambda sizes: memory(*(Dimm(slot, size) for slot, size in sizes.items()))
)


@given(modules, steps)
def test_what_is_planned_to_be_plugged_fits(before: Memory, size: int) -> None:
    """Exactly the size that was asked for, in free slots, each once, below the maximum."""
    plan = plans.dimms_to_plug(before, size)
    if isinstance(plan, Refused):
        assert plan.reason == "BeyondMaximum"
        assert before.asked + size > before.limit
        return
    assert sum(dimm.size for dimm in plan) == size
    taken = [dimm.slot for dimm in (*before.dimms, *plan)]
    assert len(set(taken)) == len(taken)
    assert all(0 <= slot < plans.DIMM_SLOTS for slot in taken)
    assert before.asked + size <= before.limit


@given(modules, steps)
def test_what_is_planned_to_be_unplugged_is_there_and_exact(before: Memory, size: int) -> None:
    plan = plans.dimms_to_unplug(before, size)
    if not isinstance(plan, Refused):
        assert sum(dimm.size for dimm in plan) == size
        assert set(plan) <= set(before.dimms)
        assert len(set(plan)) == len(plan)


@given(modules, steps)
def test_what_was_plugged_can_be_unplugged(before: Memory, size: int) -> None:
    plan = plans.dimms_to_plug(before, size)
    if isinstance(plan, tuple):
        after = memory(*before.dimms, *plan)
        assert isinstance(plans.dimms_to_unplug(after, size), tuple)


@given(st.sets(st.integers(1, 15)), st.integers(0, 15))
def test_cpus_plugged_and_unplugged_leave_what_was(taken: set[int], count: int) -> None:
    before = slots({0, *taken}, total=16)
    plan = plans.cpus_to_plug(before, count)
    if isinstance(plan, tuple):
        chosen = {slot.socket for slot in plan}
        assert len(chosen) == count
        assert not chosen & {0, *taken}
        after = slots({0, *taken, *chosen}, total=16)
        out = plans.cpus_to_unplug(after, count)
        assert isinstance(out, tuple)
        assert len(present(after)) - count == len(present(before))
