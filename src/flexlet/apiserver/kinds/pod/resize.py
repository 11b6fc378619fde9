"""Resizing a pod in place: what ``/resize`` may change.

Only cpu and memory, of containers and (KEP-5419) of the pod as a whole; entries may be added and changed, never
removed; the QoS class stays. Follows ``ValidatePodResize`` and the pod resize strategy.
"""

from collections.abc import Mapping
from typing import Any, Final

from flexlet.api.fielderrors import FieldError, forbidden, invalid
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.pod.annotations import MIRROR
from flexlet.apiserver.kinds.pod.creation import computed_qos
from flexlet.apiserver.kinds.pod.disabled import uses_pod_level
from flexlet.apiserver.kinds.pod.equality import same
from flexlet.apiserver.kinds.pod.scope import Errors, Rules
from flexlet.apiserver.kinds.pod.spec import validate_pod
from flexlet.core.resources.names import COMPUTE

_LISTS: Final = ("containers", "initContainers")
_ONLY: Final = "only cpu and memory resources"


def keep_only_sizes(spec: Object, old: Object, *, pod_level: bool) -> Object:
    """The stored spec with nothing but the sizes of the new one; a changed set of containers is left to see."""
    if any(len(spec.get(key) or ()) != len(old.get(key) or ()) for key in _LISTS):
        return spec
    kept = dict(old)
    for key in _LISTS:
        if containers := spec.get(key):
            kept[key] = _resized(containers, old[key])
    if pod_level:
        kept["resources"] = spec.get("resources")
        if kept["resources"] is None:
            del kept["resources"]
    return kept


def _resized(containers: list[Object], old: list[Object]) -> list[Object]:
    result = []
    for container, before in zip(containers, old, strict=True):
        if container.get("name") != before.get("name"):
            return containers
        result.append(
            _replaced(before, resources=container["resources"], resizePolicy=container.get("resizePolicy"))
        )
    return result


def _replaced(before: Object, **fields: Any) -> Object:
    return {key: value for key, value in (before | fields).items() if value is not None}


def validate_resize(pod: Object, old: Object, rules: Rules, gates: Mapping[str, bool]) -> list[FieldError]:
    """What is wrong with resizing `old` into `pod`."""
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden("[]", "static pods cannot be resized")]
    if (old["spec"].get("os") or {}).get("name") == "windows":
        return [forbidden("[]", "windows pods cannot be resized")]
    errors = metadata.validate_update(pod, old)
    errors += validate_pod(pod, rules)
    _validate_class(pod, old, gates, errors)
    spec, before = pod["spec"], old["spec"]
    pod_level = uses_pod_level(spec) or uses_pod_level(before)
    if pod_level:
        if not gates["InPlacePodLevelResourcesVerticalScaling"]:
            text = (
                "resize of pods with pod-level resources is forbidden when "
                "InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled"
            )
            return [*errors, forbidden("[]", text)]
        _validate_pod_level(spec, before, errors)
    if not _validate_order(spec, before, errors):
        return errors
    _validate_sizes(spec, before, gates["InPlacePodVerticalScalingInitContainers"], errors)
    sized = {*_LISTS, "resources"} if pod_level else set(_LISTS)
    if not errors and not same(_without(spec, sized), _without(before, sized)):
        errors.append(forbidden("spec", f"{_ONLY} are mutable"))
    return errors


def _validate_class(pod: Object, old: Object, gates: Mapping[str, bool], errors: Errors) -> None:
    recorded = (old.get("status") or {}).get("qosClass") or computed_qos(old["spec"], gates)
    if recorded != computed_qos(pod["spec"], gates):
        shown = (pod.get("status") or {}).get("qosClass") or ""
        errors.append(invalid("spec", shown, "Pod QOS Class may not change as a result of resizing"))
    running = (s for s in (old.get("status") or {}).get("containerStatuses") or () if _is_running(s))
    first = next(running, None)
    if first is not None and first.get("resources") is None:
        errors.append(forbidden("spec", "Pod running on node without support for resize"))


def _is_running(status: Object) -> bool:
    return (status.get("state") or {}).get("running") is not None


def _validate_pod_level(spec: Object, before: Object, errors: Errors) -> None:
    resources, earlier = spec.get("resources"), before.get("resources")
    if earlier is not None and resources is None:
        errors.append(forbidden("spec.resources", "pod-level resources cannot be removed"))
        return
    for key in ("requests", "limits"):
        if _lost((resources or {}).get(key), (earlier or {}).get(key)):
            errors.append(forbidden(f"spec.resources.{key}", f"pod-level resource {key} cannot be removed"))
    if not same(_without_compute(resources), _without_compute(earlier)):
        errors.append(forbidden("spec", f"{_ONLY} are mutable at pod-level"))


def _validate_order(spec: Object, before: Object, errors: Errors) -> bool:
    """Whether the containers are the same ones in the same order."""
    found = len(errors)
    for key in _LISTS:
        containers, earlier = spec.get(key) or (), before.get(key) or ()
        if len(containers) != len(earlier):
            errors.append(forbidden(f"spec.{key}", f"{key} may not be added or removed on resize"))
            continue
        for i, (container, old) in enumerate(zip(containers, earlier, strict=True)):
            if container.get("name") != old.get("name"):
                text = f"{key} may not be renamed or reordered on resize"
                errors.append(forbidden(f"spec.{key}[{i}].name", text))
    return len(errors) == found


def _validate_sizes(spec: Object, before: Object, init_resize: bool, errors: Errors) -> None:
    init = list(zip(spec.get("initContainers") or (), before.get("initContainers") or (), strict=True))
    regular = list(zip(spec["containers"], before["containers"], strict=True))
    for i, (container, old) in enumerate(init):
        if init_resize or old.get("restartPolicy") == "Always":
            _validate_kept(container, old, f"spec.initContainers[{i}].resources", errors)
    for i, (container, old) in enumerate(regular):
        _validate_kept(container, old, f"spec.containers[{i}].resources", errors)
    for container, old in regular:
        if not _differs_only_in_compute(container, old):
            errors.append(forbidden("spec", f"{_ONLY} are mutable"))
    for i, (container, old) in enumerate(init):
        _validate_init(container, old, f"spec.initContainers[{i}]", init_resize, errors)


def _validate_kept(container: Object, old: Object, path: str, errors: Errors) -> None:
    resources, earlier = container.get("resources") or {}, old.get("resources") or {}
    for key in ("requests", "limits"):
        if _lost(resources.get(key), earlier.get(key)):
            errors.append(forbidden(f"{path}.{key}", f"resource {key} cannot be removed"))


def _validate_init(container: Object, old: Object, path: str, init_resize: bool, errors: Errors) -> None:
    sidecar = container.get("restartPolicy") == "Always"
    changed = not same(container, old)
    if not sidecar and not init_resize:
        if changed:
            errors.append(forbidden("spec", "resources for non-sidecar init containers are immutable"))
        return
    if not _differs_only_in_compute(container, old):
        errors.append(forbidden(path, f"{_ONLY} for init or sidecar containers are mutable"))
    if changed and not sidecar:
        text = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
        policies = container.get("resizePolicy") or ()
        errors += [forbidden(path, text) for p in policies if p.get("restartPolicy") == "RestartContainer"]


def _lost(amounts: Object | None, earlier: Object | None) -> bool:
    """Whether a name is missing that was there."""
    return not (earlier or {}).keys() <= (amounts or {}).keys()


def _differs_only_in_compute(container: Object, old: Object) -> bool:
    """Claims cannot be compared on this path: upstream drops them from the new container."""
    now = {**container, "resources": _without_compute(container.get("resources"), claims=False)}
    return same(now, {**old, "resources": _without_compute(old.get("resources"))})


def _without_compute(resources: Object | None, *, claims: bool = True) -> Object:
    """Requests and limits but for cpu and memory."""
    rest: Object = {}
    for key, value in (resources or {}).items():
        if key in {"requests", "limits"}:
            rest[key] = {name: amount for name, amount in value.items() if name not in COMPUTE}
        elif claims:
            rest[key] = value
    return rest


def _without(spec: Object, keys: set[str]) -> Object:
    return {key: value for key, value in spec.items() if key not in keys}
