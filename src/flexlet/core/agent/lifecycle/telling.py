"""When a decision lets the API know: as soon as there is news, but for moments that nobody needs to see.

While a pod is being stopped its status stands still from the moment the first container has ended until everything
has: the kubelet reports an end once, with all exit codes. Until then readiness goes on being told. While
containers start or restart, while one whose hook failed is stopped, while a grant is written down or the steps of
a resize are taken, a report waits a moment, since the next news are near.
"""

from collections.abc import Iterator
from typing import Final

from flexlet.core.agent import reporting, runs
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.agent.record import PodRecord
from flexlet.core.runtime.shown import EXITED, Container

_MOMENT_S: Final = 1.0
_PAUSE_S: Final = 3.0
"""How long a container that is stopped to be started again may be away before anybody is told."""


def tell(draft: Draft) -> bool:
    """Report the pod as it is now, if that is news and no passing moment; whether a report was begun."""
    if _stands_still(draft.record):
        return False
    passing = max(_moments(draft), default=draft.now)
    draft.wake(passing)
    return passing <= draft.now and tell_anyway(draft)


def replaced(draft: Draft) -> Iterator[Container]:
    """The runs that ended to be started again, and whose next one has not begun or may not be told of yet."""
    record = draft.record
    if not record.replaced or record.stopping_since is not None:
        return
    for each in runs.probed(draft.pod):
        known = runs.seen(record, each.name)
        if (
            known
            and known[0].id in record.replaced
            and known[0].state == EXITED
            and each.name not in record.troubles
        ):
            yield known[0]


def tell_anyway(draft: Draft) -> bool:
    """Report it whatever goes on."""
    record = draft.record
    if not draft.may("status"):
        return False
    grounds = reporting.grounds(record, draft.setup)
    if record.told_from == grounds:
        return False
    told = reporting.report(record, draft.setup, draft.now)
    if told is None:
        draft.change(told_from=grounds)
        return False
    return draft.issue(told)


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
    if draft.record.granted is not None:
        yield underway.get("SaveAllocation", draft.now) + _MOMENT_S
    for run in draft.shown.running:
        if run.id in draft.record.doomed and run.name in draft.record.troubles:
            yield draft.record.troubles[run.name].at + _MOMENT_S
    if draft.record.unverified:
        yield underway.get("resize", underway.get("Inspect", draft.now)) + _MOMENT_S
    for run in replaced(draft):
        yield run.finished_at / 1e9 + _PAUSE_S
