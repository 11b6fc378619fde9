"""When a decision lets the API know: as soon as there is news, but for moments that nobody needs to see.

While a pod is being stopped its status stands still from the moment the first container has ended until everything
has: the kubelet reports an end once, with all exit codes. Until then readiness goes on being told. While
containers start, or the steps of a resize are taken, a report waits a moment, since the next news are near.
"""

from collections.abc import Iterator
from typing import Final

from flexlet.core.agent import reporting
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.agent.record import PodRecord

_MOMENT_S: Final = 1.0


def tell(draft: Draft) -> bool:
    """Report the pod as it is now, if that is news and no passing moment; whether a report was begun."""
    if _stands_still(draft.record):
        return False
    passing = max(_moments(draft), default=draft.now)
    draft.wake(passing)
    return passing <= draft.now and tell_anyway(draft)


def tell_anyway(draft: Draft) -> bool:
    """Report it whatever goes on."""
    if not draft.may("status"):
        return False
    told = reporting.report(draft.record, draft.setup, draft.now)
    return told is not None and draft.issue(told)


def _stands_still(record: PodRecord) -> bool:
    if record.stopping_since is None or record.stopped or record.shown is None:
        return False
    running = {run.id for run in record.shown.running}
    return not record.stops or not running.issuperset(record.stops)


def _moments(draft: Draft) -> Iterator[float]:
    """When what goes on now will have passed."""
    underway = draft.record.underway
    for key, since in underway.items():
        if key.startswith("container/"):
            yield since + _MOMENT_S
    if draft.record.unverified:
        yield underway.get("resize", underway.get("Inspect", draft.now)) + _MOMENT_S
