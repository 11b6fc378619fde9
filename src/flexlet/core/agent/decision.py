"""The answer to "what now?" for one pod: the record as decided, what to do, what to tell, when to ask again."""

import msgspec

from flexlet.core.actions import RecordEvent
from flexlet.core.agent.deeds import PodDeed
from flexlet.core.agent.record import PodRecord


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Deeds begin at once, side by side; their keys are already under way in `record`."""

    record: PodRecord
    deeds: tuple[PodDeed, ...] = ()
    events: tuple[RecordEvent, ...] = ()
    wake_at: float | None = None
