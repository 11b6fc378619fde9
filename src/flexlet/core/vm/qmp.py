"""What QEMU answers about a machine's run, its migration, its channels and its memory, as values.

Sizes are read elsewhere (`flexlet.core.lab.answers`). A field that is missing is a HypervisorError, for then this
is not the QEMU we know.
"""

from typing import Any, Final

import msgspec

from flexlet.core.vm.guest import Move, MoveState, RunState
from flexlet.errors import HypervisorError

_RUN_STATES: Final[dict[str, RunState]] = {
    "running": "Running",
    "inmigrate": "Incoming",
    "postmigrate": "Migrated",
    "prelaunch": "Starting",
}
_MOVE_STATES: Final[dict[str, MoveState]] = {
    "none": "",
    "completed": "Completed",
    "failed": "Failed",
    "cancelled": "Cancelled",
}
_GUESTS_BLOCKS: Final = ("pc.ram", "ram0")
_GUESTS_PART: Final = "-backend"


class _Status(msgspec.Struct):
    status: str


class _Ram(msgspec.Struct, frozen=True):
    transferred: int = 0


class _Migration(msgspec.Struct, rename="kebab"):
    status: str = "none"
    ram: _Ram = _Ram()
    total_time: int = 0
    downtime: int = 0
    error_desc: str = ""


class _Chardev(msgspec.Struct, rename="kebab"):
    label: str
    frontend_open: bool


class Block(msgspec.Struct, frozen=True):
    """Memory of the guest as QEMU's own address space has it."""

    start: int
    size: int


def run_state(answer: object) -> RunState:
    """What ``query-status`` says; anything that is none of the others is a pause."""
    return _RUN_STATES.get(_read("query-status", answer, _Status).status, "Paused")


def move(answer: object) -> Move:
    """How far ``query-migrate`` says the migration is."""
    found: _Migration = _read("query-migrate", answer, _Migration)
    state = _MOVE_STATES.get(found.status, "Active")
    return Move(state, found.ram.transferred, found.total_time, found.downtime, found.error_desc)


def is_open(answer: object, label: str) -> bool:
    """Whether ``query-chardev`` says that somebody in the guest holds this channel open."""
    return any(
        each.label == label and each.frontend_open for each in _read("query-chardev", answer, list[_Chardev])
    )


def guest_blocks(answer: object) -> tuple[Block, ...]:
    """Where the guest's memory is, from the table of the command ``info ramblock``."""
    rows = (line.split() for line in str(answer).splitlines()[1:])
    return tuple(Block(int(row[6], 16), int(row[5], 16)) for row in rows if len(row) >= 7 and _is_guests(row[0]))


def _is_guests(name: str) -> bool:
    own = name.rpartition("/")[2]
    return own in _GUESTS_BLOCKS or _GUESTS_PART in own


def _read(command: str, answer: object, kind: Any) -> Any:
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise HypervisorError(f"cannot read the answer of {command}: {error}") from error
