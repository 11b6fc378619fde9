"""How deeds ended: every one clears its key, a failed one also says when it may be tried again.

One function per kind of deed. Those that change what the runtime has come after the look that shows it; if one
failed, nobody knows how far it came, and the pod must be looked at again.
"""

from msgspec.structs import replace

from flexlet.core.actions import RecordEvent
from flexlet.core.agent import delays, events, probing
from flexlet.core.agent.deeds import (
    CreatePodCgroup,
    Deed,
    FinishDelete,
    ForgetPod,
    Inspect,
    MountVolumes,
    PullImage,
    RemoveContainer,
    RemovePodCgroup,
    RemoveSandbox,
    RemoveVolumes,
    ReportStatus,
    RunPreStop,
    RunProbe,
    RunSandbox,
    SetCpus,
    StartContainer,
    StopContainer,
    StopSandbox,
    TakeStep,
)
from flexlet.core.agent.fold import containers, images, resizing
from flexlet.core.agent.observations import Answer, Failed, Finished
from flexlet.core.agent.record import Pin, PodRecord
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.resize.events import WARNING
from flexlet.core.resize.podcgroup import of_files

End = tuple[PodRecord, tuple[RecordEvent, ...]]

_NEW_CGROUP = {"cpu.weight": "100", "cpu.max": "max 100000", "memory.max": "max"}
_TOLD_IN_VAIN = frozenset({"NotFound", "Conflict"})
"""The API has no such pod, or another one by its name: nobody is there to be told."""


def finished(record: PodRecord, end: Finished, setup: NodeSetup, now: float) -> End:
    """The record after the end of a deed, and what to tell."""
    deed, outcome = end.deed, end.outcome
    failure = outcome if isinstance(outcome, Failed) else None
    record = _cleared(record, deed.key, failed=failure is not None)
    match deed:
        case PullImage():
            return images.ended(record, deed, end, now)
        case StartContainer():
            return containers.started(record, deed, outcome, now)
        case StopContainer():
            return containers.stopped(record, deed, outcome, setup, now)
        case RunPreStop():
            return containers.prepared(record, deed, outcome)
        case TakeStep():
            return resizing.taken(record, deed, outcome, setup, now)
        case RunProbe():
            answer = outcome if isinstance(outcome, Answer) else Answer(result="unknown", output=_text(failure))
            return probing.answered(record, deed, answer, now)
        case ReportStatus():
            return _reported(record, deed, failure, now), ()
        case SetCpus():
            return _pinned(record, deed, failure, setup, now), ()
        case MountVolumes():
            return _mounted(record, deed, failure, end.began_at, now)
    if failure is not None:
        return _failed(record, deed, failure, now)
    return _done(record, deed), ()


def _done(record: PodRecord, deed: Deed) -> PodRecord:
    match deed:
        case CreatePodCgroup(files=files, actuated=actuated):
            # Until it is read it is what was written.
            cgroup = record.cgroup or of_files({**_NEW_CGROUP, **files})
            level = replace(record.actuated, pod=actuated.pod)
            return replace(record, has_cgroup=True, has_values=True, cgroup=cgroup, actuated=level)
        case RemovePodCgroup():
            return replace(record, has_cgroup=False, cgroup=None)
        case RemoveVolumes(everything=everything):
            return replace(record, volumes=False, unmounted=True, erased=record.erased or everything)
        case StopSandbox(sandbox_id=found):
            return replace(record, stopped_sandboxes=record.stopped_sandboxes | {found})
        case FinishDelete():
            return replace(record, deleted=True)
        case ForgetPod():
            return replace(record, cleaned=record.gone)
        case _:
            return record


def _failed(record: PodRecord, deed: Deed, failure: Failed, now: float) -> End:
    """Tried again after a while, and only after another look if the runtime was involved."""
    uid, key = record.uid, deed.key
    wait = delays.again(uid, key, now, delays.LOOK_S if isinstance(deed, Inspect) else delays.SYNC_S)
    changes = isinstance(deed, RunSandbox | StopSandbox | RemoveSandbox | RemoveContainer | Inspect)
    record = replace(record, retries={**record.retries, key: wait}, stale=record.stale or changes)
    match deed:
        case RunSandbox() if record.stopping_since is None:
            # What was stopped for a new sandbox does not come back at once after all.
            record = replace(record, replaced=frozenset())
            reason, text = "FailedCreatePodSandBox", f"Failed to create pod sandbox: {failure.message}"
        case CreatePodCgroup():
            reason, text = "FailedCreatePodContainer", f"unable to ensure pod container exists: {failure.message}"
        case StopSandbox():
            reason, text = "FailedKillPod", f"error killing pod: {failure.message}"
        case _:
            return record, ()
    return record, (events.of_pod(record.pod, WARNING, reason, text),)


def _reported(record: PodRecord, deed: ReportStatus, failure: Failed | None, now: float) -> PodRecord:
    if failure is None or failure.reason in _TOLD_IN_VAIN:
        return replace(record, reported=deed.status)
    wait = delays.again(record.uid, deed.key, now)
    return replace(record, retries={**record.retries, deed.key: wait})


def _pinned(record: PodRecord, deed: SetCpus, failure: Failed | None, setup: NodeSetup, now: float) -> PodRecord:
    """What was set is known from now on; a runtime that refused is asked again after a while."""
    if failure is None:
        return replace(record, pinned={**record.pinned, deed.container_id: Pin(cpus=deed.cpus, mems=deed.mems)})
    wait = delays.again(record.uid, deed.key, now, setup.managers.reconcile_s)
    return replace(record, retries={**record.retries, deed.key: wait})


def _mounted(record: PodRecord, deed: MountVolumes, failure: Failed | None, began_at: float, now: float) -> End:
    if failure is None:
        next_at = now + delays.spread(record.uid, deed.key, delays.REFRESH_S, now)
        # What changed while they were made may not be in them.
        is_old = began_at < record.refresh_volumes_at <= now
        return replace(record, volumes=True, refresh_volumes_at=now if is_old else next_at), ()
    wait = delays.doubled(record.retries.get(deed.key), delays.VOLUMES_S, delays.LONGEST_VOLUMES_S, now)
    if failure.detail:
        text = f'MountVolume.SetUp failed for volume "{failure.detail}" : {failure.message}'
        told = events.of_pod(record.pod, WARNING, "FailedMount", text)
    else:
        text = f"error making pod data directories: {failure.message}"
        told = events.of_pod(record.pod, WARNING, events.FAILED, text)
    return replace(record, retries={**record.retries, deed.key: wait}), (told,)


def _cleared(record: PodRecord, key: str, *, failed: bool) -> PodRecord:
    """The deed is no longer under way; how long it waited before counts only if it failed again."""
    underway = {each: since for each, since in record.underway.items() if each != key}
    if failed or key not in record.retries:
        return replace(record, underway=underway)
    retries = {each: wait for each, wait in record.retries.items() if each != key}
    return replace(record, underway=underway, retries=retries)


def _text(failure: Failed | None) -> str:
    return "" if failure is None else failure.message
