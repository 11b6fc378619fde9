"""What people are told about a pod's life, in the kubelet's words (those about resizes are in `core.resize`).

Events about a container say where it stands in the pod. Ids of containers in a runtime's text are replaced by the
container's name, so that repeated events are equal and are counted, not piled up.
"""

from typing import Final

from flexlet.api import duration
from flexlet.api.nodepod import NodePod
from flexlet.core.actions import RecordEvent
from flexlet.core.agent import runs
from flexlet.core.agent.containers import keyring
from flexlet.core.agent.containers.names import full_name
from flexlet.core.resize.events import NORMAL, WARNING, about

DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"
FAILED: Final = "Failed"
BACK_OFF: Final = "BackOff"
HOOK_FAILED: Final = "FailedPostStartHook"
INSPECTED: Final = {"InvalidImageName": "InspectFailed", "ImageInspectError": "InspectFailed"}
"""Reasons of waiting containers whose trouble is told under another name."""
NEVER_PULL: Final = "ErrImageNeverPull"
PULL_BACK_OFF: Final = "ImagePullBackOff"
CRASH_BACK_OFF: Final = "CrashLoopBackOff"


def of_pod(pod: NodePod, kind: str, reason: str, message: str) -> RecordEvent:
    """About the pod as a whole."""
    return about(pod, kind, reason, message)


def of_container(pod: NodePod, name: str, kind: str, reason: str, message: str) -> RecordEvent:
    """About one of its containers."""
    return about(pod, kind, reason, message, fieldPath=runs.field_path(pod, name))


def of_image(pod: NodePod, name: str, kind: str, reason: str, message: str) -> RecordEvent:
    """About the image of a container; that of a volume is the pod's, it has no container's name."""
    return of_container(pod, name, kind, reason, message) if name else of_pod(pod, kind, reason, message)


def pulling(pod: NodePod, name: str, image: str) -> RecordEvent:
    """An image is being fetched."""
    return of_image(pod, name, NORMAL, "Pulling", f'Pulling image "{image}"')


def without_secrets(pod: NodePod, absent: tuple[str, ...]) -> tuple[RecordEvent, ...]:
    """An image is being fetched although the pod's pull secrets are not all there."""
    return (of_pod(pod, WARNING, "FailedToRetrieveImagePullSecret", keyring.missing_text(absent)),)


def present(pod: NodePod, name: str, image: str) -> RecordEvent:
    """An image need not be fetched."""
    text = f'Container image "{image}" already present on machine and can be accessed by the pod'
    return of_image(pod, name, NORMAL, "Pulled", text)


def pulled(pod: NodePod, name: str, image: str, took_s: float, waited_s: float, size: int) -> RecordEvent:
    """An image was fetched; `took_s` is all of it, the waiting for others included."""
    alone, total = (_milliseconds(seconds) for seconds in (took_s - waited_s, took_s))
    text = f'Successfully pulled image "{image}" in {alone} ({total} including waiting). Image size: {size} bytes.'
    return of_image(pod, name, NORMAL, "Pulled", text)


def pull_failed(
    pod: NodePod, name: str, image: str, reason: str, message: str, detail: str
) -> tuple[RecordEvent, ...]:
    """An image cannot be had: what is wrong, and what the container waits for."""
    if reason in INSPECTED or reason == NEVER_PULL:
        why = of_image(pod, name, WARNING, INSPECTED.get(reason, reason), message)
    else:
        why = of_image(pod, name, WARNING, FAILED, f'Failed to pull image "{image}": {detail or message}')
    return (why, failed(pod, name, f"Error: {reason}")) if name else (why,)


def pull_backed_off(pod: NodePod, name: str, image: str, *, is_volume: bool = False) -> tuple[RecordEvent, ...]:
    """The next attempt to fetch an image has to wait."""
    why = of_image(pod, "" if is_volume else name, NORMAL, BACK_OFF, f'Back-off pulling image "{image}"')
    return (why, failed(pod, name, f"Error: {PULL_BACK_OFF}"))


def crash_backed_off(pod: NodePod, name: str) -> RecordEvent:
    """The next start of a container has to wait."""
    text = f"Back-off restarting failed container {name} in pod {full_name(pod)}"
    return of_container(pod, name, WARNING, BACK_OFF, text)


def crash_message(pod: NodePod, name: str, delay_s: float) -> str:
    """What a container that waits to be started again shows."""
    wait = duration.text(round(delay_s * 1e9))
    return f"back-off {wait} restarting failed container={name} pod={full_name(pod)}"


def created(pod: NodePod, name: str) -> RecordEvent:
    """The runtime has made the container."""
    return of_container(pod, name, NORMAL, "Created", "Container created")


def started(pod: NodePod, name: str) -> RecordEvent:
    """Its process runs."""
    return of_container(pod, name, NORMAL, "Started", "Container started")


def failed(pod: NodePod, name: str, message: str, container_id: str = "") -> RecordEvent:
    """A container could not be made or started."""
    text = message.replace(container_id, name) if container_id else message
    return of_container(pod, name, WARNING, FAILED, text)


def killing(pod: NodePod, name: str, message: str) -> RecordEvent:
    """A container is about to be stopped, and why."""
    return of_container(pod, name, NORMAL, "Killing", message)


def _milliseconds(seconds: float) -> str:
    return duration.text(max(0, int(seconds * 1000)) * 1_000_000)
