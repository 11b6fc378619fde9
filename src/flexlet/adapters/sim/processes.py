"""Simulated processes: what one does is a generator that says what it waits for.

A body yields `Sleep`, `Child` or `Charge` and is resumed when that is over; what it returns is its exit code. A
yield's value is a `Signal` if one came first and what was waited for can be interrupted.
"""

from collections.abc import Callable, Generator
from typing import Any, Final

import msgspec

TERM: Final = 15
KILL: Final = 9


class Signal(msgspec.Struct, frozen=True):
    """A signal that the process has asked to hear of."""

    number: int


class Sleep(msgspec.Struct, frozen=True):
    """Wait this long; None for ever."""

    seconds: float | None = None
    interruptible: bool = True


class Child(msgspec.Struct, frozen=True):
    """Wait until a child has ended; its exit code comes back."""

    pid: int
    interruptible: bool = False


class Charge(msgspec.Struct, frozen=True):
    """Use this much more memory; who is killed for it never comes back."""

    size: int
    kind: str = "anon"
    """``anon`` goes with the process, ``cache`` can be reclaimed, ``shmem`` (a file in a tmpfs) stays."""


Effect = Sleep | Child | Charge
Body = Generator[Effect, Any, int]
Start = Callable[["Process"], Body]
"""Makes the body of a new process."""


class Process(msgspec.Struct, eq=False, kw_only=True):
    """A running process."""

    pid: int
    cgroup: str
    namespace: str = ""
    """Whose pid namespace it lives in; all die with the first."""
    is_init: bool = False
    parent: int = 0
    started_at: float
    oom_score_adj: int = 0
    anon: int = 0
    cache: int = 0
    cpu_milli: int = 0
    handled: set[int] = msgspec.field(default_factory=set)
    """Signals that the body wants to hear of; an init process ignores all others but KILL."""
    ignored: set[int] = msgspec.field(default_factory=set)
    pending: list[int] = msgspec.field(default_factory=list)
    unkillable: bool = False
    """As if stuck in the kernel: KILL has no effect while this is set."""
    waits_for: Effect | None = None
    is_running: bool = False
    """Whether its body runs at this moment, and cannot be closed."""
    turn: int = 0
    """Counts resumptions, so that an alarm for a sleep that was cut short is known to be stale."""
    body: Body | None = None
    on_exit: "Callable[[Process, int, bool], None] | None" = None
    """Told the exit code and whether the process was killed for want of memory."""
