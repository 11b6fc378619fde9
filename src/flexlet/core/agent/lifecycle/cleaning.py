"""Take away what nobody needs any more.

Of a pod that lives, one ended run per container is kept (its exit and its last logs are asked for) and the newest
sandbox. Of a pod that has ended, volumes and cgroup go, and its last runs stay for their logs until the API lets
it go. Of a pod that is gone, everything goes, at last its allocation. Follows the kubelet's garbage collection,
but at once instead of every minute.
"""

from flexlet.core.agent.deeds import (
    ForgetPod,
    RemoveContainer,
    RemovePodCgroup,
    RemoveSandbox,
    RemoveVolumes,
    StopContainer,
)
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.agent.lifecycle.foundations import cgroup_path
from flexlet.core.agent.lifecycle.killing import stopping
from flexlet.core.runtime.shown import CREATED, READY, RUNNING, UNKNOWN, Container


def trim(draft: Draft) -> None:
    """Remove all but the newest ended run of each container, and empty sandboxes that were replaced."""
    shown = draft.shown
    if len(shown.containers) > 1:
        for run in _surplus(draft):
            _remove(draft, run)
    if len(shown.sandboxes) > 1:
        used = {run.sandbox_id for run in shown.containers}
        for sandbox in shown.sandboxes[1:]:
            if sandbox.state != READY and sandbox.id not in used:
                draft.issue(RemoveSandbox(uid=draft.record.uid, sandbox_id=sandbox.id))


def tidy(draft: Draft) -> None:
    """After the end: `cleaned` when volumes and cgroup are gone, and with a pod that is gone everything else."""
    record = draft.record
    if record.cleaned:
        return
    if record.has_cgroup:
        draft.issue(RemovePodCgroup(uid=record.uid, path=cgroup_path(draft)))
    if not record.unmounted or (record.gone and not record.erased):
        draft.issue(RemoveVolumes(uid=record.uid, everything=record.gone))
    if record.gone:
        _erase(draft)
    elif record.unmounted and not record.has_cgroup:
        draft.change(cleaned=True)


def _erase(draft: Draft) -> None:
    """Containers, then sandboxes, then the records; `cleaned` follows when these are gone."""
    record, shown = draft.record, draft.shown
    for run in shown.containers:
        _remove(draft, run)
    if not shown.containers:
        for sandbox in shown.sandboxes:
            draft.issue(RemoveSandbox(uid=record.uid, sandbox_id=sandbox.id))
    left = shown.containers or shown.sandboxes or record.has_cgroup or not record.erased
    if not left and not record.stale:
        draft.issue(ForgetPod(uid=record.uid))


def _surplus(draft: Draft) -> list[Container]:
    kept: set[str] = set()
    found = []
    for run in draft.shown.containers:
        if run.state == RUNNING or draft.is_starting(run.name):
            continue
        if run.state == CREATED:
            # It never ran, so it is not the one to keep; the newest one is left to whoever starts the next.
            found += [run] if run is not draft.shown.newest(run.name) else []
            continue
        if run.name in kept:
            found.append(run)
        kept.add(run.name)
    return found


def _remove(draft: Draft, run: Container) -> None:
    """One of which nobody knows whether it runs is stopped first, once."""
    uid = draft.record.uid
    if run.state == RUNNING or draft.is_stopping(run):
        return
    stop = StopContainer(uid=uid, container=run.name, container_id=run.id, grace_s=0, reason=stopping(run))
    if run.state == UNKNOWN and draft.issue(stop):
        return
    draft.issue(RemoveContainer(uid=uid, container=run.name, container_id=run.id))
