"""How far a look at a balloon brings each of its resources: what the NodeSize's status remembers."""

from collections.abc import Collection, Sequence

import msgspec

from flexlet.api import age
from flexlet.core.nodesize import sizes
from flexlet.core.nodesize.objects import Direction, Progress, Result
from flexlet.core.nodesize.scene import Scene
from flexlet.core.nodesize.sides import Side


class Records:
    """The records of one look, written as its steps are decided."""

    def __init__(self, scene: Scene, sides: Sequence[Side], drifted: Collection[str], now: float) -> None:
        self._scene = scene
        self._sides = sides
        self._drifted = drifted
        self._now = now
        self._written: dict[str, Progress] = {}

    def asked(
        self,
        side: Side,
        direction: Direction,
        requested: int,
        *,
        result: Result = "Pending",
        attempts: int | None = None,
        message: str = "",
    ) -> None:
        """The node is asked for a size, or has yet to answer."""
        record, now = side.record, age.format_micro(self._now)
        is_again = record.result == "Granted"
        self._written[side.resource] = msgspec.structs.replace(
            record,
            requested=sizes.quantity(side.resource, requested),
            result=result,
            direction=direction,
            attempts=record.attempts if attempts is None else attempts,
            message=message,
            since=now if is_again else record.since,
            asked_at=now if is_again or not record.asked_at else record.asked_at,
        )

    def failed(self, side: Side, result: Result, direction: Direction, message: str) -> None:
        """A wish came to nothing, or to less than was wished."""
        short = max(0, side.need - max(0, side.free)) or max(0, side.need)
        self._written[side.resource] = msgspec.structs.replace(
            side.record,
            requested=sizes.quantity(side.resource, side.allocated),
            result=result,
            direction=direction,
            missing=sizes.quantity(side.resource, short),
            message=message,
        )

    def all(self) -> dict[str, Progress]:
        """The records as they are after this look; what has its size is granted."""
        return {side.resource: self._record(side) for side in self._sides}

    def _record(self, side: Side) -> Progress:
        if side.resource in self._written:
            return self._written[side.resource]
        if side.resource in self._drifted:
            return self._scene.record(side.resource) or side.record
        if not side.goal == side.spec == side.allocated:
            return side.record
        return msgspec.structs.replace(
            side.record,
            requested=sizes.quantity(side.resource, side.spec),
            result="Granted",
            missing=sizes.quantity(side.resource, 0),
            message="",
        )
