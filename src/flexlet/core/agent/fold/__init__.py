"""Take what was learned about a pod into its record, and say what people must be told of it.

`folded` never decides anything: it notes what is, what ended, what failed and how long to wait because of that.
`lifecycle` then decides from the record alone. Sources may speak in any order; what the runtime shows is ordered
among itself, so that an old view which arrives late changes nothing.
"""

import msgspec

from flexlet.core.actions import RecordEvent
from flexlet.core.agent import events
from flexlet.core.agent.fold import ends, looks, sources
from flexlet.core.agent.observations import (
    AllocationRead,
    Finished,
    HookChanged,
    PodGone,
    PodObservation,
    PodSeen,
    PullBegan,
    Shown,
)
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.setup import NodeSetup


class Folded(msgspec.Struct, frozen=True):
    """The record with the news in it; the same one if there are none."""

    record: PodRecord
    events: tuple[RecordEvent, ...] = ()


def folded(record: PodRecord, observation: PodObservation, setup: NodeSetup, now: float) -> Folded:
    """The record after an observation."""
    match observation:
        case PodSeen():
            return Folded(sources.seen(record, observation, now))
        case PodGone():
            return Folded(sources.gone(record))
        case AllocationRead():
            return Folded(sources.remembered(record, observation))
        case Shown():
            return Folded(looks.shown(record, observation, setup, now))
        case PullBegan(container=name, image=image, absent_secrets=absent):
            told = events.without_secrets(record.pod, absent) if absent else ()
            return Folded(record, (*told, events.pulling(record.pod, name, image)))
        case HookChanged():
            return Folded(record)
        case Finished():
            return Folded(*ends.finished(record, observation, setup, now))


__all__ = ["Folded", "folded"]
