"""The active balloon, one resource at a time: what it has, what it shall have, and how much room is left."""

from collections.abc import Collection
from typing import Final

import msgspec

from flexlet.api import age
from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.objects import Progress
from flexlet.core.nodesize.scene import Scene
from flexlet.core.nodesize.sights import Balloon
from flexlet.core.nodesize.sizes import RESOURCES, Amounts

_ENDED: Final = frozenset({"Refused", "Partial"})


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of the active balloon."""

    resource: str
    goal: int
    spec: int
    allocated: int
    room: int
    """How much more fits, as far as the API shows."""
    may_grow: int
    """How much more `minEffective` leaves."""
    record: Progress
    is_current: bool
    """Whether the record is about this wish."""

    @property
    def is_over(self) -> bool:
        """Whether this wish has failed already."""
        return self.is_current and self.record.result in _ENDED

    @property
    def is_owed(self) -> bool:
        """Whether the balloon had this size already and lost it: it gets it back when there is room."""
        return self.is_current and self.record.result == "Granted"

    @property
    def need(self) -> int:
        """How much more is wanted than is allocated."""
        return self.goal - self.allocated

    @property
    def free(self) -> int:
        """How much more it may have now."""
        return min(self.room, self.may_grow)

    @property
    def since(self) -> float:
        """When the node was first asked; until then, when it was wished for."""
        known = self.record.asked_at or self.record.since
        return age.parse(known).timestamp() if known else 0.0


def of(scene: Scene, wanted: Amounts, goal: Amounts, drifted: Collection[str], now: float) -> list[Side]:
    """Both sides of the active balloon; `wanted` is the sum of all balloons, `goal` this one's part of it."""
    active = scene.active
    return [] if active is None else [_side(scene, active, r, wanted, goal, drifted, now) for r in RESOURCES]


def _side(
    scene: Scene, active: Balloon, r: str, wanted: Amounts, goal: Amounts, drifted: Collection[str], now: float
) -> Side:
    allocated = (active.allocated or active.spec)[r]
    others = sum(b.held[r] for b in scene.balloons[1:])
    spare = scene.allocatable[r] - others - allocated
    known, fresh = scene.record(r), _fresh(scene, active, r, wanted[r], now)
    is_current = known is not None and _wish(known) == _wish(fresh)
    return Side(
        resource=r,
        goal=active.spec[r] if r in drifted else goal[r],
        spec=active.spec[r],
        allocated=allocated,
        room=spare - scene.workload[r],
        may_grow=spare - sizes.of(scene.size.spec.min_effective)[r],
        record=known if known is not None and is_current else fresh,
        is_current=is_current,
    )


def _fresh(scene: Scene, active: Balloon, r: str, wanted: int, now: float) -> Progress:
    """The record of a wish of which nothing has been done."""
    allocated = (active.allocated or active.spec)[r]
    return Progress(
        resource=r,
        generation=scene.size.metadata.generation,
        request=scene.request,
        wanted=sizes.quantity(r, wanted),
        requested=sizes.quantity(r, active.spec[r]),
        direction="Inflate" if wanted > allocated else "Deflate",
        result="Pending",
        since=age.format_micro(now),
    )


def _wish(record: Progress) -> tuple[int, str, object]:
    return record.generation, record.request, record.wanted
