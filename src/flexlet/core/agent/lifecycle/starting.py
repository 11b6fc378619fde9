"""One container on its way: back-off after a crash, then its image, then the start itself.

What holds it up is a `Trouble`, which its waiting state shows. A trouble is told once, when it begins, and stays
until a start succeeds or another trouble takes its place. The image is asked for before every attempt, also one
that follows a failed one, since it may have been removed and the pull policy may want it anew.

The amounts that a container gets are recorded as actuated when its start is issued: from then on the node may have
made it. Follows `startContainer`, `doBackOff` and the image manager of Kubernetes 1.36.3.
"""

from flexlet.api.nodepod import NodeContainer
from flexlet.core.agent import attempts, events, runs
from flexlet.core.agent.deeds import PullImage, RemoveContainer, StartContainer
from flexlet.core.agent.lifecycle import volumeimages, waiting
from flexlet.core.agent.lifecycle.draft import Draft
from flexlet.core.resize import targets
from flexlet.core.runtime.shown import CREATED


def start(draft: Draft, container: NodeContainer, sandbox_id: str) -> None:
    """Take the next step towards a running container."""
    name = container.name
    if not draft.may(f"container/{name}") or f"image/{name}" in draft.record.underway:
        return
    if not _is_cleared(draft, name) or (draft.record.contested and name in draft.record.exclusive):
        return
    allocated = runs.named(draft.allocated, name) or container
    if _is_backing_off(draft, allocated):
        return
    attempt = attempts.following(draft.record, name)
    if not volumeimages.are_here(draft, container, attempt):
        return
    image = draft.record.images.get(name)
    if image is None or image.for_attempt != attempt:
        _pull(draft, container)
        return
    actuated = targets.created(draft.record.actuated, draft.allocated, allocated)
    draft.change(actuated=actuated)
    draft.issue(
        StartContainer(
            uid=draft.record.uid,
            container=name,
            attempt=attempt,
            sandbox_id=sandbox_id,
            image_ref=image.ref,
            actuated=actuated,
        )
    )


def _is_cleared(draft: Draft, name: str) -> bool:
    """Whether nothing is left of a start that an agent did not live to finish; such a run does not count."""
    newest = draft.shown.newest(name)
    if newest is None or newest.state != CREATED or name in draft.record.troubles:
        return True
    draft.issue(RemoveContainer(uid=draft.record.uid, container=name, container_id=newest.id))
    return False


def _is_backing_off(draft: Draft, container: NodeContainer) -> bool:
    """Whether a crash holds the container back; if not, the delay after the next one is decided."""
    record, name = draft.record, container.name
    held = attempts.held_until(record, container)
    if held is None or draft.now >= held[1]:
        longest = draft.setup.max_restart_period_s
        after = attempts.decided(record, container, longest, draft.now)
        if after is not None and after is not record.crashes.get(name):
            draft.change(crashes={**record.crashes, name: after})
        return False
    delay, until = held
    draft.wake(until)
    message = events.crash_message(draft.pod, name, delay.delay_s)
    if waiting.trouble(draft, name, events.CRASH_BACK_OFF, message):
        draft.tell(events.crash_backed_off(draft.pod, name))
    return True


def _pull(draft: Draft, container: NodeContainer) -> None:
    delay = draft.record.pulls.get(container.image)
    if delay is not None and draft.now < delay.ends_at:
        waiting.for_image(draft, container.name, container.image, delay)
        return
    draft.issue(
        PullImage(
            uid=draft.record.uid,
            container=container.name,
            image=container.image,
            policy=container.image_pull_policy,
        )
    )
