"""With which code a launcher ends, so that its pod tells how the machine did.

===========  ==========================================================================
0            the guest shut down, was shut down on demand, or has moved elsewhere
3            the guest's kernel gave up
128 + n      a signal ended QEMU: 137 is the kernel's, when the pod had no memory left
others       QEMU's own: it failed
===========  ==========================================================================
"""

import signal
from typing import Final

import msgspec

CLEAN: Final = 0
FAULT: Final = 1
GUEST_PANIC: Final = 3
_PANIC: Final = "guest-panic"


class Ending(msgspec.Struct, frozen=True):
    """The code and the sentence for people."""

    code: int
    message: str


def ending(code: int | None, reason: str, *, wanted: bool) -> Ending:
    """From QEMU's exit code (None: unknown, it is not our child), its last word and whether it was told to end."""
    if reason == _PANIC:
        return Ending(GUEST_PANIC, "the guest's kernel panicked")
    if code is not None and code < 0 and not wanted:
        return Ending(128 - code, f"QEMU was ended by {_name(-code)}")
    if code is not None and code > 0:
        return Ending(code, f"QEMU failed with exit code {code}")
    if wanted:
        return Ending(CLEAN, "the machine was shut down on demand")
    if reason:
        return Ending(CLEAN, f"the guest shut down ({reason})")
    return Ending(FAULT, "QEMU ended without a word") if code is None else Ending(CLEAN, "QEMU was told to end")


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
