"""What the detector learns. Times are of one clock that never goes back."""

from typing import Literal

import msgspec

from flexlet.core.machine.machine import Machine
from flexlet.core.machine.parts import Part

Source = Literal["uevent", "overrun", "swaps", "signal", "onlined"]


class Hinted(msgspec.Struct, frozen=True):
    """Somebody says that the machine changed; nobody says how."""

    source: Source
    at: float
    added: Part | None = None
    """A part that was not there before; it is offline because it is new, not because somebody wants it so."""


class Deaf(msgspec.Struct, frozen=True):
    """There are no hints from the kernel here: only looking tells."""


class Read(msgspec.Struct, frozen=True):
    """The answer to a ReadMachine."""

    machine: Machine
    at: float


class ReadFailed(msgspec.Struct, frozen=True):
    """The answer to a ReadMachine when what was read cannot be true."""

    reason: str
    at: float


class Answered(msgspec.Struct, frozen=True):
    """The answer to an Online; `refusal` is empty if the part is online now."""

    part: Part
    refusal: str
    at: float


Observation = Hinted | Deaf | Read | ReadFailed | Answered
