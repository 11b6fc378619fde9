"""What QEMU answers, and how a launcher ends."""

import pytest

from flexlet.core.vm import qmp
from flexlet.core.vm.ending import Ending, ending
from flexlet.core.vm.guest import Move, RunState
from flexlet.core.vm.qmp import Block
from flexlet.errors import HypervisorError

RAMBLOCKS = (
    "              Block Name    PSize  Offset   Used              Total                HVA  RO\n"
    "0000:00:11.0:00.0/vmem0-backend    4 KiB  0x0 0x60000000 0x0000000060000000 0x00007f5c2be00000  rw\n"
    "                  pc.ram    4 KiB  0x0000000060000000 0x20000000 0x0000000020000000 0x00007f5c03e00000  rw\n"
    "                 pc.bios    4 KiB  0x0000000080000000 0x40000 0x0000000000040000 0x00007f5cd2000000  ro\n"
)


@pytest.mark.parametrize(
    ("status", "state"),
    [("running", "Running"), ("inmigrate", "Incoming"), ("postmigrate", "Migrated"), ("io-error", "Paused")],
)
def test_run_states(status: str, state: RunState) -> None:
    assert qmp.run_state({"status": status, "running": False}) == state


def test_a_migration() -> None:
    answer = {"status": "completed", "ram": {"transferred": 7}, "total-time": 5, "downtime": 1, "setup-time": 2}
    assert qmp.move(answer) == Move("Completed", 7, 5, 1)
    assert qmp.move({"status": "pre-switchover"}) == Move("Active")
    assert qmp.move({"status": "failed", "error-desc": "no route"}) == Move("Failed", message="no route")
    assert qmp.move({}) == Move()


def test_where_the_guests_memory_is() -> None:
    assert qmp.guest_blocks(RAMBLOCKS) == (Block(0x7F5C2BE00000, 0x60000000), Block(0x7F5C03E00000, 0x20000000))


def test_an_agent_that_listens() -> None:
    chardevs = [
        {"label": "agent", "filename": "", "frontend-open": True},
        {"label": "qmp0", "frontend-open": True},
    ]
    assert qmp.is_open(chardevs, "agent")
    assert not qmp.is_open(chardevs, "serial")


def test_an_answer_of_another_program() -> None:
    with pytest.raises(HypervisorError, match="cannot read the answer of query-status"):
        qmp.run_state({})


@pytest.mark.parametrize(
    ("code", "reason", "wanted", "expected"),
    [
        (0, "guest-shutdown", False, Ending(0, "the guest shut down (guest-shutdown)")),
        (0, "guest-panic", True, Ending(3, "the guest's kernel panicked")),
        (-9, "", False, Ending(137, "QEMU was ended by SIGKILL")),
        (-9, "", True, Ending(0, "the machine was shut down on demand")),
        (1, "", False, Ending(1, "QEMU failed with exit code 1")),
        (None, "", False, Ending(1, "QEMU ended without a word")),
        (None, "guest-shutdown", False, Ending(0, "the guest shut down (guest-shutdown)")),
        (0, "", False, Ending(0, "QEMU was told to end")),
    ],
)
def test_exit_codes(code: int | None, reason: str, wanted: bool, expected: Ending) -> None:
    assert ending(code, reason, wanted=wanted) == expected
