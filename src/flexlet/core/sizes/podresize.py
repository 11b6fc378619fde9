"""Another size for a pod: what to send to its ``resize`` subresource, and what has become of it."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from flexlet.api import decode
from flexlet.api.pod import Container, Pod, ResourceRequirements
from flexlet.api.quantity import Quantity
from flexlet.core.sizes.pods import PENDING, resizing
from flexlet.core.sizes.wish import PENDING as UNANSWERED
from flexlet.core.sizes.wish import Outcome
from flexlet.errors import ConfigError


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of one resource: ``500m``, ``500m/1`` or ``/1``."""

    request: Quantity | None = None
    limit: Quantity | None = None
    both: bool = False
    """Whether one value was given, for whatever the pod has."""


def read(text: str) -> Amount:
    """Read ``REQUEST``, ``REQUEST/LIMIT`` or ``/LIMIT``; InputError names what is no quantity."""
    request, stroke, limit = text.partition("/")
    one = Quantity.parse(request) if request or not stroke else None
    return Amount(request=one, limit=Quantity.parse(limit) if stroke else None, both=not stroke)


def chosen(pod: Pod, container: str) -> str:
    """The container to be resized; empty means the pod as a whole.

    A pod with resources of its own is resized as a whole, and so is one of several containers; the only container
    of a pod stands for it where the pod has none.
    """
    known = [one.name for one in pod.spec.containers] + [c.name for c in pod.spec.init_containers if c.is_sidecar]
    if container and container not in known:
        raise ConfigError(f"pod {pod.metadata.name} has no container {container}: it has {', '.join(known)}")
    if container or pod.spec.resources is not None or len(known) > 1:
        return container
    return known[0]


def resources(pod: Pod, container: str) -> ResourceRequirements:
    """What a container, or the pod as a whole, asks for now."""
    if not container:
        return pod.spec.resources or ResourceRequirements()
    found = (*pod.spec.containers, *pod.spec.init_containers)
    return next(one.resources for one in found if one.name == container)


def patch(pod: Pod, container: str, wishes: Mapping[str, Amount]) -> dict[str, Any]:
    """A strategic merge patch for the ``resize`` subresource."""
    now = resources(pod, container)
    new: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for name, wish in wishes.items():
        request, limit = _both(now, name, wish)
        new["requests"] |= {name: str(request)} if request is not None else {}
        new["limits"] |= {name: str(limit)} if limit is not None else {}
    wanted = {key: amounts for key, amounts in new.items() if amounts}
    if not container:
        return {"spec": {"resources": wanted}}
    regular = any(one.name == container for one in pod.spec.containers)
    return {"spec": {"containers" if regular else "initContainers": [{"name": container, "resources": wanted}]}}


def patched(pod: Pod, container: str, body: dict[str, Any]) -> Pod:
    """The pod as it would be after such a patch."""
    (change,) = body["spec"].values()
    new = decode.from_value(change[0]["resources"] if container else change, ResourceRequirements)
    old = resources(pod, container)
    both = ResourceRequirements(requests={**old.requests, **new.requests}, limits={**old.limits, **new.limits})
    if not container:
        return replace(pod, spec=replace(pod.spec, resources=both))
    lists = {
        "containers": tuple(_with(one, container, both) for one in pod.spec.containers),
        "init_containers": tuple(_with(one, container, both) for one in pod.spec.init_containers),
    }
    return replace(pod, spec=replace(pod.spec, **lists))


def _with(one: Container, name: str, both: ResourceRequirements) -> Container:
    return replace(one, resources=both) if one.name == name else one


def _both(now: ResourceRequirements, name: str, wish: Amount) -> tuple[Quantity | None, Quantity | None]:
    """A single value is the request, and the limit too where both are the same or only that is set."""
    if not wish.both:
        return wish.request, wish.limit
    request, limit = now.requests.get(name), now.limits.get(name)
    if limit is None:
        return wish.request, None
    if request is None or request == limit:
        return (wish.request if request is not None else None), wish.request
    return wish.request, None


def outcome(pod: Pod, container: str) -> Outcome:
    """How far the resize that was asked for last has come."""
    if pod.status.phase in {"Succeeded", "Failed"}:
        return Outcome("Failed", pod.status.reason or pod.status.phase, pod.status.message or "the pod has ended")
    for condition in resizing(pod):
        seen = condition.observed_generation
        if seen and seen < pod.metadata.generation:
            continue
        if condition.type == PENDING:
            return Outcome("Refused", condition.reason, condition.message)
        return Outcome("Waiting", condition.reason or "InProgress", condition.message)
    if not pod.spec.node_name:
        return Outcome("Done", "Unscheduled", "the pod has no node yet; it will start with this size")
    actual = _actual(pod, container)
    if actual is not None and _is(actual, resources(pod, container)):
        return Outcome("Done", "InForce")
    return Outcome("Waiting", UNANSWERED, "the node has not taken it up yet")


def _actual(pod: Pod, container: str) -> ResourceRequirements | None:
    if not container:
        return pod.status.resources
    found = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return next((one.resources for one in found if one.name == container), None)


def _is(actual: ResourceRequirements, wanted: ResourceRequirements) -> bool:
    """Whether everything that is wanted is in force; the kernel rounds nothing that the API shows."""
    pairs = ((actual.requests, wanted.requests), (actual.limits, wanted.limits))
    return all(held.get(name) == amount for held, asked in pairs for name, amount in asked.items())
