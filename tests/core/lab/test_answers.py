import pytest
from tests.core.lab.recorded import QUERIES

from flexlet.api.units import GIB, MIB
from flexlet.core.lab import answers
from flexlet.core.lab.devices import CpuSlot, Dimm, Memory, VirtioMem, present
from flexlet.errors import HypervisorError


def slot(socket: int, path: str = "") -> CpuSlot:
    props = {"core-id": 0, "thread-id": 0, "node-id": 0, "socket-id": socket}
    return CpuSlot("max-x86_64-cpu", props, path)


def test_cpu_slots_come_in_the_guests_order() -> None:
    assert answers.cpu_slots(QUERIES["query-hotpluggable-cpus"]) == (
        slot(0, "/machine/unattached/device[0]"),
        slot(1, "/machine/unattached/device[2]"),
        slot(2, "/machine/peripheral/vcpu-2-0-0"),
        slot(3),
    )


def test_a_cpu_is_named_by_its_id_or_its_path() -> None:
    """CPUs that QEMU has made itself have no id: they are unplugged by path."""
    slots = answers.cpu_slots(QUERIES["query-hotpluggable-cpus"])
    assert [entry.target for entry in slots] == [
        "/machine/unattached/device[0]",
        "/machine/unattached/device[2]",
        "vcpu-2-0-0",
        "vcpu-3-0-0",
    ]
    assert [entry.socket for entry in present(slots)] == [0, 1, 2]


def test_memory_is_modules_and_elastic_memory() -> None:
    found = answers.memory(QUERIES["query-memory-size-summary"], QUERIES["query-memory-devices"])
    assert found == Memory(2 * GIB, (Dimm(0, GIB),), VirtioMem(512 * MIB, 0, 4 * GIB, 2 * MIB))
    assert (found.present, found.asked, found.limit) == (3 * GIB, 3 * GIB + 512 * MIB, 6 * GIB)


def test_a_machine_may_have_neither() -> None:
    assert answers.memory(QUERIES["query-memory-size-summary"], []) == Memory(2 * GIB)


@pytest.mark.parametrize(
    "answer", [None, [{"type": "x"}], {"base-memory": "much"}, [{"props": {"socket-id": "x"}}]]
)
def test_an_answer_that_cannot_be_read_is_a_fault(answer: object) -> None:
    with pytest.raises(HypervisorError, match="cannot read the answer of query-hotpluggable-cpus"):
        answers.cpu_slots(answer)
    with pytest.raises(HypervisorError, match="cannot read the answer of query-memory"):
        answers.memory(answer, answer)
