"""How the search for an image ended."""

from typing import Final

from msgspec.structs import replace

from flexlet.core.actions import RecordEvent
from flexlet.core.agent import attempts, delays, events
from flexlet.core.agent.containers.security import everybody
from flexlet.core.agent.deeds import PullImage
from flexlet.core.agent.observations import Done, Failed, Finished
from flexlet.core.agent.record import Backoff, ImageState, PodRecord, Trouble, VolumeImage

_TRIED: Final = frozenset({"ErrImagePull", "RegistryUnavailable", "SignatureValidationFailed"})
"""Failures of the registry; they wait ever longer, all others are asked again at the usual pace."""


def ended(
    record: PodRecord, deed: PullImage, end: Finished, now: float
) -> tuple[PodRecord, tuple[RecordEvent, ...]]:
    """The image is here, or the container waits for it."""
    match end.outcome:
        case Done():
            return _here(record, deed, end.outcome), (_told(record, deed, end, end.outcome),)
        case Failed(message=message) as failure:
            reason = failure.reason or "ErrImagePull"
            told = events.pull_failed(record.pod, deed.container, deed.image, reason, message, failure.detail)
            return _missing(record, deed, reason, message, now), told
        case _:
            return record, ()


def _here(record: PodRecord, deed: PullImage, done: Done) -> PodRecord:
    pulls = {image: wait for image, wait in record.pulls.items() if image != deed.image}
    if deed.volume:
        found = VolumeImage(ref=done.image_ref, attempts=_served(record, deed.volume))
        return replace(record, volume_images={**record.volume_images, deed.volume: found}, pulls=pulls)
    state = ImageState(
        ref=done.image_ref,
        user=done.user,
        username=done.username,
        for_attempt=attempts.following(record, deed.container),
    )
    return replace(record, images={**record.images, deed.container: state}, pulls=pulls)


def _served(record: PodRecord, volume: str) -> dict[str, int]:
    """Containers that may start with what was found; of one that runs, the next start comes too late for that."""
    running = {run.name for run in record.shown.running} if record.shown is not None else set()
    mounting = (
        each.name for each in everybody(record.pod) if any(mount.name == volume for mount in each.volume_mounts)
    )
    return {name: attempts.following(record, name) for name in mounting if name not in running}


def _told(record: PodRecord, deed: PullImage, end: Finished, done: Done) -> RecordEvent:
    if not done.pulled:
        return events.present(record.pod, deed.container, deed.image)
    took = end.ended_at - end.began_at
    return events.pulled(record.pod, deed.container, deed.image, took, done.waited_s, done.size)


def _missing(record: PodRecord, deed: PullImage, reason: str, message: str, now: float) -> PodRecord:
    trouble = Trouble(reason=reason, message=message, at=now)
    if deed.volume:
        found = VolumeImage(trouble=trouble)
        record = replace(record, volume_images={**record.volume_images, deed.volume: found})
    else:
        record = replace(record, troubles={**record.troubles, deed.container: trouble})
    if reason not in _TRIED:
        wait = delays.again(record.uid, deed.key, now)
        return replace(record, retries={**record.retries, deed.key: wait})
    wait = replace(_next(record.pulls.get(deed.image), now), why=f"{reason}: {message}")
    return replace(record, pulls={**record.pulls, deed.image: wait})


def _next(before: Backoff | None, now: float) -> Backoff:
    is_old = before is not None and now - before.since > delays.FORGOTTEN_AFTER_S
    return delays.doubled(None if is_old else before, delays.PULL_S, delays.LONGEST_PULL_S, now)
