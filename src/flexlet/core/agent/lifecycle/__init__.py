"""What to do for a pod now.

`decide` looks at a record and says everything that can be done at this moment: deeds that may run side by side,
what people are told, and when to ask again. What must come after something else is decided when that has been seen
to be done. Asking twice without anything new in between decides nothing the second time.

A pod is looked at before anything is decided about it, but for telling that it was rejected. It lives (`resizing`,
`life`) until there is a reason to stop it for good (`stopping`), then it is cleaned up (`cleaning`). The API is
told first how things were found, and at the end what became of that: so a crash is reported before the wait that
follows it.
"""

from flexlet.core.agent import doubts, probing
from flexlet.core.agent.decision import Decision
from flexlet.core.agent.deeds import Inspect
from flexlet.core.agent.lifecycle import cleaning, life, resizing, stopping
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.agent.lifecycle.telling import tell
from flexlet.core.agent.record import REJECTED, UNDECIDED, PodRecord
from flexlet.core.agent.setup import NodeSetup

__all__ = ["decide"]


def decide(record: PodRecord, setup: NodeSetup, now: float) -> Decision:
    """Everything that can be done for the pod now; what is begun is under way in the record that comes back."""
    draft = Draft(record, setup, now)
    if record.shown is None or record.stale:
        draft.issue(Inspect(uid=record.uid))
    if record.shown is None and record.admission == REJECTED and record.ending is not None:
        # Nobody has to wait for a runtime that is slow or away to learn that a pod cannot run here.
        life.note_start(draft)
        tell(draft)
    if record.shown is None or (record.admission == UNDECIDED and not record.gone):
        return draft.decision()
    may_act = not record.stale and setup.runtime_ready and not _is_in_doubt(draft)
    if may_act:
        resizing.proceed(draft)
    tell(draft)
    found = draft.record
    if may_act:
        _act(draft)
    if draft.record is not found:
        tell(draft)
    return draft.decision()


def _is_in_doubt(draft: Draft) -> bool:
    """Whether the runtime may yet find what it has lost; nobody waits for that who is to end."""
    until = doubts.awaited_until(draft.record)
    if until is None or draft.record.stopping_since is not None or stopping.must_stop(draft):
        return False
    if draft.now >= until:
        draft.issue(Inspect(uid=draft.record.uid))
    draft.wake(until)
    return True


def _act(draft: Draft) -> None:
    life.note_start(draft)
    if not draft.record.stopped:
        if not stopping.is_due(draft):
            life.live(draft)
        # Living may have found that it is over.
        if draft.record.stopping_since is not None:
            stopping.proceed(draft)
    if draft.record.stopped:
        cleaning.tidy(draft)
        return
    cleaning.trim(draft)
    _probe(draft)


def _probe(draft: Draft) -> None:
    questions, wake_at = probing.due(draft.record, draft.setup, draft.now)
    for question in questions:
        draft.issue(question)
    draft.wake(wake_at)
