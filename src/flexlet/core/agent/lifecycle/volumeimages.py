"""Volumes that are images: pulled before a container that mounts them is made, once for all that wait for them.

What goes wrong with a pull is told of the pod; a container that waits for it says so itself. Follows
`getImageVolumes` of Kubernetes 1.36.3, which asks for every image again with each look at the pod; here it is
asked for before each attempt of a container.
"""

from flexlet.api.nodepod import NodeContainer
from flexlet.api.nodepod.volumes import ImageVolume, Volume
from flexlet.core.agent import events
from flexlet.core.agent.containers import volumes
from flexlet.core.agent.deeds import PullImage
from flexlet.core.agent.lifecycle import waiting
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.agent.record import Backoff, VolumeImage


def are_here(draft: Draft, container: NodeContainer, attempt: int) -> bool:
    """Whether all that the container mounts were made sure of for this attempt; if not, that is seen to."""
    missing = [
        volume
        for volume in volumes.of_images(draft.pod, container)
        if _known(draft, volume).attempts.get(container.name) != attempt
    ]
    for volume in missing:
        _pull(draft, volume)
    failed = [volume for volume in missing if _known(draft, volume).trouble is not None]
    if failed:
        _show(draft, container.name, failed[-1])
    return not missing


def _known(draft: Draft, volume: Volume) -> VolumeImage:
    return draft.record.volume_images.get(volume.name, VolumeImage())


def _delay(draft: Draft, image: ImageVolume) -> Backoff | None:
    """What the next pull has to wait for."""
    found = draft.record.pulls.get(image.reference)
    return found if found is not None and draft.now < found.ends_at else None


def _pull(draft: Draft, volume: Volume) -> None:
    image = volume.image or ImageVolume()
    if _delay(draft, image) is None:
        uid = draft.record.uid
        draft.issue(PullImage(uid=uid, volume=volume.name, image=image.reference, policy=image.pull_policy))


def _show(draft: Draft, name: str, volume: Volume) -> None:
    """Let the container say why it waits: for the last one that failed, as the kubelet does."""
    image, trouble = volume.image or ImageVolume(), _known(draft, volume).trouble
    shown = draft.record.troubles.get(name)
    if trouble is not None and (shown is None or shown.at < trouble.at):
        draft.change(troubles={**draft.record.troubles, name: trouble})
        draft.tell(events.failed(draft.pod, name, f"Error: {trouble.reason}"))
    if (delay := _delay(draft, image)) is not None:
        waiting.for_image(draft, name, image.reference, delay, is_volume=True)
