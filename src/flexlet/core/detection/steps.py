"""What the detector wants done, as data."""

from typing import Literal

import msgspec

from flexlet.core.machine.machine import Machine
from flexlet.core.machine.parts import OnlineAs, Part

HALF_PLUGGED = "HalfPlugged"
STABLE = "Stable"


class ReadMachine(msgspec.Struct, frozen=True):
    """Look at the machine and tell: Read or ReadFailed, one answer for each."""

    what: Literal["everything", "sizes"]
    """``sizes`` is the short look, which becomes a long one if parts came or went."""


class Online(msgspec.Struct, frozen=True):
    """Bring a part online and tell: Answered."""

    part: Part
    as_: OnlineAs = "online"


class Apply(msgspec.Struct, frozen=True, kw_only=True):
    """The machine is another: whoever is still busy with an older one takes this one next."""

    machine: Machine
    seen_at: float
    """When the change was first noticed."""
    confirmed: bool = False
    """Whether it was so doubtful that it was read several times."""


class Note(msgspec.Struct, frozen=True):
    """What the node says of its parts; `reason` is one of the condition ``NodeResize``."""

    reason: Literal["HalfPlugged", "Stable"]
    message: str = ""


Step = ReadMachine | Online | Apply | Note


class Decision(msgspec.Struct, frozen=True):
    """What to do now, and when to ask again at the latest; None for not before something is learned."""

    steps: tuple[Step, ...] = ()
    wake_at: float | None = None
