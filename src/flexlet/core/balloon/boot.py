"""A node that registers shows its whole size before its balloon is there (balloon.md §5.1).

So it can be asked to keep pods away until then. The taint is put on a new Node only, by the node itself; who gives
the node its size takes it away when the balloon has its own.
"""

from flexlet.api.node import Taint
from flexlet.core.balloon import names


def taints(given: tuple[Taint, ...], *, pending: bool) -> tuple[Taint, ...]:
    """What a node registers with."""
    if not pending or any(each.key == names.PENDING_TAINT for each in given):
        return given
    return (*given, Taint(key=names.PENDING_TAINT, effect="NoSchedule"))
