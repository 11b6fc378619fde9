import msgspec
import pytest

from flexlet.api.units import GIB, MIB
from flexlet.core.lab.spec import Inventory, MachineSpec, Record, check, factory, text_of
from flexlet.errors import ConfigError


def test_a_spec_that_can_work_is_returned() -> None:
    spec = MachineSpec("node-1", 1, 1, 128 * MIB, 128 * MIB)
    assert check(spec) is spec


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (MachineSpec("Node"), "cannot name a machine 'Node'"),
        (MachineSpec("../x"), "cannot name a machine"),
        (MachineSpec("n" * 41), "longer than 40 characters"),
        (MachineSpec("n", cpus=0), "not 0 and 8"),
        (MachineSpec("n", cpus=9), "not 9 and 8"),
        (MachineSpec("n", max_cpus=256), "<= 255"),
        (MachineSpec("n", memory=GIB + 1), r"--memory 1073741825 must be a multiple of 128Mi"),
        (MachineSpec("n", max_memory=0), r"--max-memory 0 must be a multiple"),
        (MachineSpec("n", memory=2 * GIB, max_memory=GIB), "--memory 2Gi is more than --max-memory 1Gi"),
    ],
)
def test_a_spec_that_cannot_work_is_refused_by_name(spec: MachineSpec, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        check(spec)


def test_a_record_survives_its_file() -> None:
    """What was plugged must be found again at the next start, slots included."""
    record = Record(MachineSpec("n"), Inventory((0, 1, 5), {3: GIB}, 2 * MIB), {8080: 80})
    assert msgspec.json.decode(msgspec.json.encode(record), type=Record) == record


def test_a_new_machine_has_what_its_spec_says() -> None:
    assert factory(MachineSpec("n", cpus=3)) == Inventory((0, 1, 2))


def test_sizes_are_shown_as_people_write_them() -> None:
    assert [text_of(size) for size in (0, 1536 * MIB, 2 * GIB)] == ["0", "1536Mi", "2Gi"]
