"""What to think of a reading: whether it is worth acting on, urgent, or hard to believe."""

from typing import Final

from flexlet.api.pod import ResourceList
from flexlet.api.quantity import Quantity
from flexlet.core.machine.difference import Change, difference
from flexlet.core.machine.machine import Machine
from flexlet.core.resources.names import CPU, MEMORY

_DOUBTED: Final = (CPU, MEMORY)
"""Only these end pods when they vanish; no swap and no huge pages is an administrator's everyday act."""


def worthwhile(applied: Machine, found: Machine, jitter: int) -> tuple[Change, ...]:
    """The changes; none if memory grew a little and nothing else happened.

    Measured against what was applied, not against the last look, so that slow drift adds up and is noticed.
    """
    changes = difference(applied, found)
    return () if _is_trembling(changes, applied, found, jitter) else changes


def shrank(changes: tuple[Change, ...]) -> bool:
    """Whether something became less: pods may already be in trouble, so there is less time to wait."""
    return any(change.direction == "decrease" for change in changes)


def is_doubtful(changes: tuple[Change, ...], reserved: ResourceList) -> bool:
    """Whether so little is left that it may be a glitch: below reservations, or below half of what there was."""
    return any(_is_steep(change, reserved) for change in changes if change.direction == "decrease")


def _is_steep(change: Change, reserved: ResourceList) -> bool:
    if change.resource not in _DOUBTED:
        return False
    left = Quantity.of_bytes(change.after)
    return 2 * change.after < change.before or left < reserved.get(change.resource, Quantity.of_bytes(0))


def _is_trembling(changes: tuple[Change, ...], applied: Machine, found: Machine, jitter: int) -> bool:
    grew_a_little = all(
        change.resource == MEMORY and change.direction == "increase" and change.after - change.before < jitter
        for change in changes
    )
    before = {node.id: node.memory for node in applied.numa}
    return grew_a_little and all(node.memory >= before.get(node.id, 0) for node in found.numa)
