"""How starting and stopping a container ended."""

from typing import Final

from msgspec.structs import replace

from flexlet.core.actions import RecordEvent
from flexlet.core.agent import delays, events, setbacks
from flexlet.core.agent.deeds import RunPreStop, StartContainer, StopContainer
from flexlet.core.agent.observations import Done, Failed, Outcome
from flexlet.core.agent.record import PodRecord, Trouble, VolumeImage
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.resize import steps
from flexlet.core.resize.events import WARNING
from flexlet.core.runtime.shown import CREATED

End = tuple[PodRecord, tuple[RecordEvent, ...]]

_START: Final = "start"
_HOOK: Final = "hook"


def started(record: PodRecord, deed: StartContainer, outcome: Outcome, now: float) -> End:
    """The container runs, or waits with what went wrong."""
    name, pod = deed.container, record.pod
    if not isinstance(outcome, Failed):
        troubles = {each: trouble for each, trouble in record.troubles.items() if each != name}
        return replace(record, troubles=troubles), (events.created(pod, name), events.started(pod, name))
    record = _in_trouble(record, deed, outcome, now)
    text = f"Error: {outcome.message}"
    match outcome.stage:
        case "hook":
            hook = events.of_container(pod, name, WARNING, events.HOOK_FAILED, "PostStartHook failed")
            return record, (events.created(pod, name), events.started(pod, name), hook)
        case "start":
            return record, (events.created(pod, name), events.failed(pod, name, text, outcome.id))
        case _:
            return record, (events.failed(pod, name, text, outcome.id),)


def stopped(record: PodRecord, deed: StopContainer, outcome: Outcome, setup: NodeSetup, now: float) -> End:
    """The run has ended, or could not be stopped; either way it is not told again at once."""
    wait = delays.again(record.uid, deed.key, now)
    record = replace(record, retries={**record.retries, deed.key: wait})
    if not isinstance(outcome, Failed):
        return record, _hook_failure(record, deed.container, outcome)
    record = replace(record, stale=True)
    told: tuple[RecordEvent, ...] = ()
    if deed.reason.endswith("resize requires restart"):
        subject = steps.StopContainer(deed.container).subject
        record = replace(record, failed_steps=record.failed_steps | {subject})
        record, told = setbacks.resize_failed(record, setup, outcome.message, now)
    text = f"error killing pod: {outcome.message}"
    return record, (*told, events.of_pod(record.pod, WARNING, "FailedKillPod", text))


def prepared(record: PodRecord, deed: RunPreStop, outcome: Outcome) -> End:
    """The hook of a sidecar has run."""
    return record, _hook_failure(record, deed.container, outcome)


def _hook_failure(record: PodRecord, name: str, outcome: Outcome) -> tuple[RecordEvent, ...]:
    """What a hook said is told to nobody: it may be secret."""
    failed = isinstance(outcome, Failed) or (isinstance(outcome, Done) and bool(outcome.hook_failure))
    if not failed:
        return ()
    return (events.of_container(record.pod, name, WARNING, "FailedPreStopHook", "PreStopHook failed"),)


def _in_trouble(record: PodRecord, deed: StartContainer, failure: Failed, now: float) -> PodRecord:
    name = deed.container
    trouble = Trouble(reason=failure.reason or "CreateContainerError", message=failure.message, at=now)
    record = replace(record, troubles={**record.troubles, name: trouble}, stale=record.stale or not failure.stage)
    if failure.stage == _HOOK:
        return replace(record, doomed={**record.doomed, failure.id: events.HOOK_FAILED})
    if failure.stage == _START and not _is_left_behind(record, failure.id):
        return record
    # The image is asked for again with the next attempt, which comes at the usual pace.
    images = {each: state for each, state in record.images.items() if each != name}
    wait = delays.again(record.uid, deed.key, now)
    record = replace(record, volume_images=_without(record.volume_images, name))
    return replace(record, images=images, retries={**record.retries, deed.key: wait})


def _without(images: dict[str, VolumeImage], name: str) -> dict[str, VolumeImage]:
    """Nothing is sure any more for the container's next attempt."""
    return {
        volume: replace(image, attempts={each: number for each, number in image.attempts.items() if each != name})
        for volume, image in images.items()
    }


def _is_left_behind(record: PodRecord, run_id: str) -> bool:
    """Whether a container that did not start looks as if it could still; no crash will hold it back."""
    runs = record.shown.containers if record.shown is not None else ()
    return any(run.id == run_id and run.state == CREATED for run in runs)
