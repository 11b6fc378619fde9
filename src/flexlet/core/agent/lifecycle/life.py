"""A pod that is to run: what it stands on, and its containers."""

from flexlet.api import age
from flexlet.core.agent import runs
from flexlet.core.agent.lifecycle import foundations, killing, starting, stopping
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.agent.lifecycle.survey import Survey


def note_start(draft: Draft) -> None:
    """A pod starts when the node first deals with it; that is kept from then on."""
    if not draft.record.started_at:
        draft.change(started_at=age.format_seconds(draft.now))


def live(draft: Draft) -> None:
    """Take the next steps; may find that the pod is over, and then begins to stop it."""
    needs_sandbox = runs.needs_sandbox(draft.pod, draft.shown)
    survey = None if needs_sandbox else Survey(draft)
    is_over = foundations.is_beyond_repair(draft) if survey is None else survey.is_over
    if is_over and not killing.is_busy(draft):
        stopping.begin(draft)
        return
    if draft.record.allocation is None:
        return
    is_laid = foundations.are_laid(draft)
    foundations.refresh(draft)
    if survey is None or not is_laid:
        return
    for stop in survey.stops:
        killing.stop(draft, stop)
    if not draft.is_resizing:
        sandbox = draft.shown.sandboxes[0]
        for container in survey.starts:
            starting.start(draft, container, sandbox.id)
