"""Resource defaulting on the plain JSON dicts that the API server stores.

The rule is `flexlet.core.resources.defaults`; this file only reads amounts out of a dict and writes canonical text
back, in place. Fields that the typed Pod does not know (claims, ephemeral containers, volume claim templates) keep
their content; their amounts are rounded as well. Amounts that cannot be read raise InputError with their path.
"""

from collections.abc import Iterator
from typing import Any

from flexlet.api import decode
from flexlet.api.pod import Pod, ResourceList, ResourceRequirements
from flexlet.core.resources.defaults import default_spec, rounded
from flexlet.errors import InputError

Json = dict[str, Any]


def default_pod_dict(pod: Json) -> None:
    """Complete and round the resources of a Pod body, in place."""
    spec = pod.get("spec") or {}
    typed = default_spec(decode.from_value({"spec": spec}, Pod).spec)
    for entries, containers in (
        (spec.get("containers"), typed.containers),
        (spec.get("initContainers"), typed.init_containers),
    ):
        for entry, container in zip(entries or (), containers, strict=True):
            entry["resources"] = _merged(entry.get("resources"), container.resources)
    if typed.resources is not None:
        spec["resources"] = _merged(spec.get("resources"), typed.resources)
    if typed.overhead:
        spec["overhead"] = text_list(typed.overhead)
    for amounts, path in _other_lists(spec, pod.get("status") or {}):
        round_list(amounts, path)


def round_list(amounts: Json, path: str = "$") -> None:
    """Round the amounts of any resource list up to thousandths and print them canonically, in place."""
    for name, amount in amounts.items():
        try:
            quantity = decode.quantity(amount)
        except ValueError as error:
            raise InputError(str(error), f"{path}.{name}") from None
        amounts[name] = str(quantity.rounded_up_to_milli())


def text_list(amounts: ResourceList) -> dict[str, str]:
    """A resource list as it is stored: rounded, canonical text, sorted by name."""
    return {name: str(amount) for name, amount in sorted(rounded(amounts).items())}


def text_requirements(resources: ResourceRequirements) -> dict[str, dict[str, str]]:
    """Requests and limits as they are stored; an empty list is left out."""
    both = (("limits", resources.limits), ("requests", resources.requests))
    return {key: text_list(amounts) for key, amounts in both if amounts}


def _merged(entry: Json | None, resources: ResourceRequirements) -> Json:
    kept = {key: value for key, value in (entry or {}).items() if key not in ("limits", "requests")}
    return kept | text_requirements(resources)


def _other_lists(spec: Json, status: Json) -> Iterator[tuple[Json, str]]:
    """Every resource list of a pod that only needs rounding, with its path."""
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
