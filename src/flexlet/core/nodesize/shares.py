"""Several agents on one host: each gets a share, and all shares together never exceed the host (balloon.md §10).

A host has what it has once, less one reserve. Shares are kept in a ledger; who wants more gets what is free, and
size moves from one agent to another in that order: the giver's balloon is inflated, that is waited for, and only
then the taker's is deflated. An agent that died keeps its share until its lease has ended.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.sizes import Amounts


class Share(msgspec.Struct, frozen=True):
    """What one agent may use; it holds until it is given back or the lease ends."""

    effective: Amounts
    until: float = 0.0


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """A host and who has how much of it."""

    host: Amounts
    reserve: Amounts = msgspec.field(default_factory=sizes.NOTHING.copy)
    shares: dict[str, Share] = {}

    @property
    def whole(self) -> Amounts:
        """What there is to share."""
        return sizes.less(self.host, self.reserve)

    def free(self, now: float, besides: str = "") -> Amounts:
        """What nobody has; an agent's own share does not count against it."""
        held = (s.effective for name, s in self.shares.items() if name != besides and s.until > now)
        return sizes.less(self.whole, sizes.total(held))


class Step(msgspec.Struct, frozen=True):
    """The next thing to do: bring an agent's effective size to this."""

    kind: Literal["Inflate", "Deflate"]
    agent: str
    effective: Amounts


def even(host: Amounts, reserve: Amounts, weights: Sequence[int]) -> list[Amounts]:
    """Everybody's share by weight, rounded down: together never more than there is."""
    whole, total = sizes.less(host, reserve), sum(weights)
    return [{r: whole[r] * weight // total for r in sizes.RESOURCES} for weight in weights]


def balloon(allocatable: Amounts, effective: Amounts) -> Amounts:
    """The balloon that leaves a share of what an agent advertises, which is the whole host."""
    return sizes.largest(sizes.less(allocatable, effective), sizes.FLOOR)


def claim(ledger: Ledger, agent: str, wanted: Amounts, until: float, now: float) -> tuple[Ledger, Amounts]:
    """The ledger with as much of the wish as is free, and what is missing of it."""
    granted = sizes.largest(sizes.smallest(wanted, ledger.free(now, agent)), sizes.NOTHING)
    kept = {name: share for name, share in ledger.shares.items() if share.until > now}
    new = msgspec.structs.replace(ledger, shares={**kept, agent: Share(granted, until)})
    return new, sizes.less(wanted, granted)


def move(
    sized: Mapping[str, tuple[Amounts, Amounts]], giver: str, taker: str, goal: Mapping[str, Amounts]
) -> Step | None:
    """The next step of a move, None when it is done or has to be waited for.

    `sized` is for each agent its effective size as asked for and as its node granted it, `goal` that in the end.
    """
    asked, granted = sized[giver]
    if asked != goal[giver]:
        return Step("Inflate", giver, goal[giver])
    if granted != goal[giver]:
        return None
    return Step("Deflate", taker, goal[taker]) if sized[taker][0] != goal[taker] else None
