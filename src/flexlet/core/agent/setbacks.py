"""A resize that cannot be carried out for now: what the pod's condition says, who is told, when it is tried again.

The first failure of a resize is retried soon, since many pass by themselves; later ones at the pace at which pods
are synchronised. An event is told only if the text is news.
"""

from typing import Final

import msgspec

from flexlet.core.actions import RecordEvent
from flexlet.core.agent import delays
from flexlet.core.agent.containers.sandbox import as_allocated
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.resize import conditions, events

_SOON_S: Final = 3.0


def resize_failed(
    record: PodRecord, setup: NodeSetup, message: str, now: float
) -> tuple[PodRecord, tuple[RecordEvent, ...]]:
    """The record after an attempt to actuate failed, and what to tell."""
    known = record.resize.in_progress
    is_first = known is None or known.reason != conditions.ERROR
    after = conditions.failed(record.resize, message, record.pod.metadata.generation, now)
    wait = _SOON_S if is_first else delays.spread(record.uid, "resize", delays.SYNC_S, now)
    changed = msgspec.structs.replace(record, resize=after, retry_resize_at=now + wait)
    if known is not None and (known.reason, known.message) == (conditions.ERROR, message):
        return changed, ()
    generation = after.in_progress.observed_generation if after.in_progress is not None else 0
    return changed, (events.failed(as_allocated(record, setup), generation, message),)
