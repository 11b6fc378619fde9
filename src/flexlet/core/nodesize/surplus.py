"""Several balloons on one node: the oldest stays, the others give first and go when they have nothing left.

A surplus balloon is never deleted at size, for the node would grow; and the active one is never inflated to take
its place, for it could not fit (balloon.md §5.5).
"""

from collections.abc import Sequence

from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.sights import Balloon
from flexlet.core.nodesize.sizes import Amounts


def shares(balloons: Sequence[Balloon], wanted: Amounts) -> dict[str, Amounts]:
    """What each balloon shall have, by uid, so that together they have what is wanted; they come oldest first."""
    extra = sizes.less(sizes.total(b.spec for b in balloons), wanted)
    left = {r: max(0, extra[r]) for r in sizes.RESOURCES}
    result: dict[str, Amounts] = {}
    for balloon in reversed(balloons[1:]):
        taken = {r: min(left[r], max(0, balloon.spec[r] - sizes.FLOOR[r])) for r in sizes.RESOURCES}
        result[balloon.uid] = sizes.less(balloon.spec, taken)
        left = sizes.less(left, taken)
    if balloons:
        others = sizes.total(share for share in result.values() if share != sizes.FLOOR)
        result[balloons[0].uid] = sizes.largest(sizes.less(wanted, others), sizes.FLOOR)
    return result


def spent(balloons: Sequence[Balloon]) -> list[Balloon]:
    """Surplus balloons that have given back all they had."""
    return [b for b in balloons[1:] if b.spec == b.allocated == sizes.FLOOR and not b.is_ending]
