"""Why a pod was evicted, in Kubernetes' words; they end up in its status, its condition and an event."""

from collections.abc import Iterator, Sequence
from typing import Final

from flexlet.api.pod import Container
from flexlet.api.quantity import ZERO, Quantity
from flexlet.core.eviction.ranking import Candidate, memory_in_use
from flexlet.core.eviction.signals import RESOURCES, Levels, text
from flexlet.core.kubeletconfig.thresholds import Threshold
from flexlet.core.resources.names import EPHEMERAL_STORAGE, MEMORY
from flexlet.core.stats.readings import ContainerReading

REASON: Final = "Evicted"


def message(resource: str, candidate: Candidate, thresholds: Sequence[Threshold], levels: Levels) -> str:
    """What was low, by how much, and who in the pod used more than requested."""
    shares = [f"{each} " for each in (*_pod_share(candidate, resource), *_container_shares(candidate, resource))]
    return f"The node was low on resource: {resource}. {_shortage(resource, thresholds, levels)}{''.join(shares)}"


def annotations(resource: str, candidate: Candidate) -> dict[str, str]:
    """The same for programs, as annotations of the event."""
    if candidate.reading is None:
        return {}
    over = list(_offenders(candidate, resource))
    pod = {}
    if _pod_request(candidate, resource) is not None:
        usage = str(Quantity.of_bytes(memory_in_use(candidate)))
        pod = {"offending_pod": candidate.pod.metadata.name, "offending_pod_usage": usage}
    return pod | {
        "offending_containers": ",".join(container.name for container, _ in over),
        "offending_containers_usage": ",".join(str(usage) for _, usage in over),
        "starved_resource": resource,
    }


def _shortage(resource: str, thresholds: Sequence[Threshold], levels: Levels) -> str:
    for threshold in thresholds:
        level = levels.get(threshold.signal)
        if RESOURCES[threshold.signal] == resource and level is not None:
            exact = threshold.below.quantity
            wanted = exact if exact is not None else Quantity.of_bytes(threshold.below.of(level.capacity))
            return f"Threshold quantity: {wanted}, available: {text(threshold.signal, level.available)}. "
    return ""


def _pod_share(candidate: Candidate, resource: str) -> Iterator[str]:
    """Told whenever the pod has a request of its own, exceeded or not."""
    asked = _pod_request(candidate, resource)
    if asked is not None:
        usage = Quantity.of_bytes(memory_in_use(candidate))
        yield _larger(f"Pod {candidate.pod.metadata.name}", usage, asked, resource)


def _container_shares(candidate: Candidate, resource: str) -> Iterator[str]:
    for container, usage in _offenders(candidate, resource):
        asked = container.resources.requests.get(resource, ZERO)
        yield _larger(f"Container {container.name}", usage, asked, resource)


def _larger(who: str, usage: Quantity, asked: Quantity, resource: str) -> str:
    return f"{who} was using {usage}, request is {asked}, has larger consumption of {resource}."


def _pod_request(candidate: Candidate, resource: str) -> Quantity | None:
    own, reading = candidate.pod.spec.resources, candidate.reading
    if resource != MEMORY or own is None or reading is None or reading.usage is None:
        return None
    return own.requests.get(resource)


def _offenders(candidate: Candidate, resource: str) -> Iterator[tuple[Container, Quantity]]:
    """Containers that use more than they requested; ephemeral ones cannot request anything and are not blamed."""
    if candidate.reading is None:
        return
    spec = candidate.pod.spec
    named = {container.name: container for container in (*spec.init_containers, *spec.containers)}
    for reading in candidate.reading.containers:
        container = named.get(reading.name)
        used = _used(reading, resource)
        if container is not None and used is not None:
            usage = Quantity.of_bytes(used)
            if usage > container.resources.requests.get(resource, ZERO):
                yield container, usage


def _used(reading: ContainerReading, resource: str) -> int | None:
    if resource == MEMORY:
        return None if reading.usage is None else reading.usage.working_set
    if resource != EPHEMERAL_STORAGE or reading.rootfs is None or reading.logs is None:
        return None
    rootfs, logs = reading.rootfs.used, reading.logs.used
    return None if rootfs is None or logs is None else rootfs + logs
