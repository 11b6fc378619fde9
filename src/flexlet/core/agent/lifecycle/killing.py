"""Stop single runs of a pod that goes on, and clear a pod's sandbox away so that a new one can be made.

A run that is stopped to be started again (its image changed, it failed a probe, a resize needs it) is remembered
as `replaced`: it is started whatever its exit code, and its end does not count as a crash. Stopping the whole pod
for good is in `stopping`.
"""

import msgspec

from flexlet.api.nodepod.handlers import Handler
from flexlet.core.agent import events, runs
from flexlet.core.agent.deeds import StopContainer, StopSandbox
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.runtime.shown import Container

DEFAULT_GRACE_S = 30


class Stop(msgspec.Struct, frozen=True):
    """A run to be stopped."""

    run: Container
    reason: str
    grace_s: int
    replaces: bool = False


def stop(draft: Draft, order: Stop) -> bool:
    """Stop one run; False if that is under way or has just been tried."""
    run = order.run
    begun = draft.issue(
        StopContainer(
            uid=draft.record.uid,
            container=run.name,
            container_id=run.id,
            grace_s=order.grace_s,
            reason=order.reason,
            pre_stop=pre_stop(draft, run.name),
            replaces=order.replaces,
        )
    )
    if begun:
        draft.tell(events.killing(draft.pod, run.name, order.reason))
        if order.replaces:
            draft.change(replaced=draft.record.replaced | {run.id})
    return begun


def pre_stop(draft: Draft, name: str) -> Handler | None:
    """The hook to run before a container is stopped."""
    container = runs.named(draft.pod, name)
    if container is None or container.lifecycle is None:
        return None
    return container.lifecycle.pre_stop


def grace(draft: Draft) -> int:
    """The pod's own grace period."""
    own = draft.pod.spec.termination_grace_period_seconds
    return DEFAULT_GRACE_S if own is None else own


def clear(draft: Draft, *, replaces: bool) -> bool:
    """Stop everything that runs and then every sandbox; True when all of that is done.

    A sandbox that is not ready may still hold a network, so it is stopped once, too.
    """
    running = draft.shown.running
    for run in running:
        stop(draft, Stop(run, stopping(run), grace(draft), replaces=replaces))
    if running or is_busy(draft):
        return False
    return stop_sandboxes(draft)


def stop_sandboxes(draft: Draft) -> bool:
    """Stop the sandboxes one after the other; True when all were stopped."""
    left = [each.id for each in draft.shown.sandboxes if each.id not in draft.record.stopped_sandboxes]
    if left:
        draft.issue(StopSandbox(uid=draft.record.uid, sandbox_id=left[0]))
    return not left


def stopping(run: Container) -> str:
    """Why a run is stopped with its pod."""
    return f"Stopping container {run.name}"


def is_busy(draft: Draft) -> bool:
    """Whether something is being made or stopped whose end must be awaited."""
    return any(key == "sandbox" or key.startswith(("container/", "stop/")) for key in draft.record.underway)
