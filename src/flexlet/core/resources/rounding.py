"""Rounding of amounts to thousandths, and the text in which they are stored.

The API server keeps no amount finer than a thousandth: whatever it reads it rounds up. That touches every resource
list of an object, far more places than the other defaults, hence this file of its own. Typed lists come back as
new values (the same object if there is nothing to round), lists in JSON dicts change in place.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from flexlet.api import decode
from flexlet.api.pod import ContainerStatus, PodStatus, ResourceList, ResourceRequirements
from flexlet.api.quantity import MILLI
from flexlet.errors import InputError

Json = dict[str, Any]
Requirements = TypeVar("Requirements", ResourceRequirements, ResourceRequirements | None)


def rounded(amounts: ResourceList) -> ResourceList:
    """Every amount rounded up to thousandths."""
    for amount in amounts.values():
        if amount.nano % MILLI:
            return {name: amount.rounded_up_to_milli() for name, amount in amounts.items()}
    return amounts


def rounded_requirements(resources: Requirements) -> Requirements:
    """Requests and limits, both rounded."""
    if resources is None:
        return None
    requests, limits = rounded(resources.requests), rounded(resources.limits)
    if requests is resources.requests and limits is resources.limits:
        return resources
    return ResourceRequirements(requests=requests, limits=limits)


def rounded_status(status: PodStatus) -> PodStatus:
    """The status with every reported amount rounded."""
    return replace(
        status,
        container_statuses=tuple(map(_rounded_container_status, status.container_statuses)),
        init_container_statuses=tuple(map(_rounded_container_status, status.init_container_statuses)),
        allocated_resources=rounded(status.allocated_resources),
        resources=rounded_requirements(status.resources),
    )


def _rounded_container_status(status: ContainerStatus) -> ContainerStatus:
    allocated = rounded(status.allocated_resources)
    resources = rounded_requirements(status.resources)
    if allocated is status.allocated_resources and resources is status.resources:
        return status
    return replace(status, allocated_resources=allocated, resources=resources)


def text_list(amounts: ResourceList) -> dict[str, str]:
    """A resource list as it is written: canonical text, sorted by name."""
    return {name: str(amounts[name]) for name in sorted(amounts)}


def text_requirements(resources: ResourceRequirements) -> dict[str, dict[str, str]]:
    """Requests and limits as they are written; an empty list is left out."""
    result = {}
    if resources.limits:
        result["limits"] = text_list(resources.limits)
    if resources.requests:
        result["requests"] = text_list(resources.requests)
    return result


def round_list(amounts: Json, path: str = "$") -> None:
    """Round any resource list of a JSON object and print it canonically, in place.

    An amount that cannot be read raises InputError with its path below `path`.
    """
    for name, amount in amounts.items():
        try:
            quantity = decode.quantity(amount)
        except ValueError as error:
            raise InputError(str(error), f"{path}.{name}") from None
        amounts[name] = str(quantity.rounded_up_to_milli())


def pod_lists(spec: Json, status: Json) -> Iterator[tuple[Json, str]]:
    """The resource lists of a pod, with their paths, that are rounded and not otherwise defaulted."""
    yield spec.get("overhead") or {}, "$.spec.overhead"
    for i, container in enumerate(spec.get("ephemeralContainers") or ()):
        yield from _both(container, f"$.spec.ephemeralContainers[{i}]")
    for i, volume in enumerate(spec.get("volumes") or ()):
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}
        yield from _both(template.get("spec") or {}, f"$.spec.volumes[{i}].ephemeral.volumeClaimTemplate.spec")
    for key in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for i, entry in enumerate(status.get(key) or ()):
            yield from _reported(entry, f"$.status.{key}[{i}]")
    yield from _reported(status, "$.status")


def _reported(entry: Json, path: str) -> Iterator[tuple[Json, str]]:
    yield entry.get("allocatedResources") or {}, f"{path}.allocatedResources"
    yield from _both(entry, path)


def _both(entry: Json, path: str) -> Iterator[tuple[Json, str]]:
    resources = entry.get("resources") or {}
    for key in ("limits", "requests"):
        yield resources.get(key) or {}, f"{path}.resources.{key}"
