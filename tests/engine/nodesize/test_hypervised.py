"""A machine end on a hypervisor: CPUs and memory apart, and only what can go."""

from flexlet.adapters.sim.hypervisor import SimHypervisor
from flexlet.api.units import GIB, MIB
from flexlet.core.lab.devices import Dimm
from flexlet.core.lab.spec import MachineSpec
from flexlet.core.nodesize.hardware import Deed
from flexlet.core.nodesize.modules import removable, stays
from flexlet.engine.nodesize.hypervised import HypervisedEnd
from flexlet.engine.nodesize.keeper import carry_out
from flexlet.ports.machineend import MachineEnd, MachineSize

SPEC = MachineSpec("n1", cpus=2, max_cpus=4, memory=2 * GIB, max_memory=6 * GIB)


def end(hypervisor: SimHypervisor) -> MachineEnd:
    return HypervisedEnd(hypervisor, patience_s=0.05)


async def test_it_grows_and_shrinks() -> None:
    machine = end(SimHypervisor(SPEC))
    assert await machine.measure() == MachineSize(2, 2 * GIB, modules=())
    assert await machine.plug(2, 2 * GIB) == MachineSize(4, 4 * GIB, modules=(GIB, GIB))
    assert await machine.unplug(1, 1 * GIB) == MachineSize(3, 3 * GIB, modules=(GIB,))


async def test_cpus_without_a_slot_do_not_keep_memory_out() -> None:
    size = await end(SimHypervisor(SPEC)).plug(3, 1 * GIB)
    assert (size.cpus, size.memory) == (2, 3 * GIB)
    assert size.refusal.startswith("cannot plug 3 CPUs: 2 of 4 slots are free")


async def test_boot_memory_stays_and_is_named() -> None:
    machine = end(SimHypervisor(SPEC))
    await machine.plug(0, 1 * GIB)
    size = await machine.unplug(1, 1 * GIB + 512 * MIB)
    assert size == MachineSize(1, 2 * GIB, stays(512 * MIB), ())


async def test_a_guest_that_keeps_a_module_is_heard() -> None:
    hypervisor = SimHypervisor(SPEC)
    machine = end(hypervisor)
    await machine.plug(0, 1 * GIB)
    hypervisor.keeps.add(Dimm(0, GIB).id)
    size = await machine.unplug(0, 1 * GIB)
    assert (size.cpus, size.memory) == (2, 3 * GIB)
    assert "the guest keeps" in size.refusal


def test_only_whole_modules_can_go() -> None:
    assert [removable((4, 1, 2), wish) for wish in range(9)] == [0, 1, 2, 3, 4, 5, 6, 7, 7]
    assert [removable((4, 2), wish) for wish in range(8)] == [0, 0, 2, 2, 4, 4, 6, 6]


async def test_a_deed_says_how_big_and_not_how_much_more() -> None:
    machine = end(SimHypervisor(SPEC))
    assert await carry_out(machine, Deed("n1", "")) == MachineSize(2, 2 * GIB, modules=())
    for _ in range(2):
        assert await carry_out(machine, Deed("n1", "", 4, 3 * GIB)) == MachineSize(4, 3 * GIB, modules=(GIB,))
    assert await carry_out(machine, Deed("n1", "", 2, 2 * GIB)) == MachineSize(2, 2 * GIB, modules=())
