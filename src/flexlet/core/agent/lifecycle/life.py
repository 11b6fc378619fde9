"""A pod that is to run: what it stands on, and its containers."""

from flexlet.api import age
from flexlet.core.agent import doubts, runs
from flexlet.core.agent.lifecycle import foundations, killing, starting, stopping
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.agent.lifecycle.survey import Survey


def note_start(draft: Draft) -> None:
    """A pod starts when the node first deals with it; that is kept from then on."""
    if not draft.record.started_at:
        draft.change(started_at=age.format_seconds(draft.now))


def live(draft: Draft) -> None:
    """Take the next steps; may find that the pod is over, and then begins to stop it."""
    survey = _survey(draft)
    is_over = foundations.is_beyond_repair(draft) if survey is None else survey.is_over
    if is_over and not killing.is_busy(draft):
        stopping.begin(draft)
        return
    if draft.record.allocation is None:
        return
    is_laid = foundations.are_laid(draft, needs_sandbox=survey is None)
    foundations.refresh(draft)
    if survey is None or not is_laid:
        return
    for stop in survey.stops:
        killing.stop(draft, stop)
    if not draft.is_resizing:
        sandbox = draft.shown.sandboxes[0]
        for container in survey.starts:
            starting.start(draft, container, sandbox.id)


def _survey(draft: Draft) -> Survey | None:
    """What the containers need; None if a new sandbox must be made first."""
    if runs.needs_sandbox(draft.record):
        return None
    survey = Survey(draft)
    ephemeral = draft.pod.spec.ephemeral_containers
    is_lost = doubts.keeps(draft.record, draft.shown.sandboxes[0])
    # The runtime starts nothing in a sandbox that it has lost; nobody is stopped for a debugger's sake.
    return None if is_lost and any(each not in ephemeral for each in survey.starts) else survey
