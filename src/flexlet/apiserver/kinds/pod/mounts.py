"""Where a container sees the pod's volumes: as folders (mounts) or as raw devices."""

from typing import Final

from flexlet.api.fielderrors import forbidden, invalid, not_found, not_supported, required
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.paths import validate_descending
from flexlet.apiserver.kinds.pod.scope import Errors, Scope

_PROPAGATIONS: Final = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")


def validate_mounts(container: Object, path: str, scope: Scope, errors: Errors) -> None:
    """The folders."""
    points: set[str] = set()
    devices = {device.get("name"): device.get("devicePath") for device in container.get("volumeDevices") or ()}
    for i, mount in enumerate(container["volumeMounts"]):
        item = f"{path}[{i}]"
        name, point = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            errors.append(required(f"{item}.name"))
        if name not in scope.volumes:
            errors.append(not_found(f"{item}.name", name))
        if not point:
            errors.append(required(f"{item}.mountPath"))
        if point in points:
            errors.append(invalid(f"{item}.mountPath", point, "must be unique"))
        points.add(point)
        if devices:
            _validate_apart_from_devices(name, point, devices, item, errors)
        _validate_options(mount, container, path, item, errors)


def _validate_apart_from_devices(
    name: str, point: str, devices: dict[str, str], item: str, errors: Errors
) -> None:
    if name in devices:
        errors.append(invalid(f"{item}.name", name, "must not already exist in volumeDevices"))
    if point in devices.values():
        errors.append(invalid(f"{item}.mountPath", point, "must not already exist as a path in volumeDevices"))


def _validate_options(mount: Object, container: Object, path: str, item: str, errors: Errors) -> None:
    """Upstream reports most of these at the list, not at the item."""
    if below := mount.get("subPath"):
        validate_descending(below, f"{path}.subPath", errors)
    if expression := mount.get("subPathExpr"):
        if below:
            text = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid(f"{item}.subPathExpr", expression, text))
        validate_descending(expression, f"{path}.subPathExpr", errors)
    if (propagation := mount.get("mountPropagation")) is not None:
        _validate_propagation(propagation, container, f"{path}.mountPropagation", errors)
    if mount.get("recursiveReadOnly") is not None:
        _validate_recursive(mount, f"{path}.recursiveReadOnly", errors)


def _validate_propagation(propagation: str, container: Object, path: str, errors: Errors) -> None:
    if propagation not in _PROPAGATIONS:
        errors.append(not_supported(path, propagation, _PROPAGATIONS))
    privileged = (container.get("securityContext") or {}).get("privileged")
    if propagation == "Bidirectional" and not privileged:
        text = "Bidirectional mount propagation is available only to privileged containers"
        errors.append(forbidden(path, text))


def _validate_recursive(mount: Object, path: str, errors: Errors) -> None:
    wish = mount["recursiveReadOnly"]
    if wish not in _RECURSIVE:
        errors.append(not_supported(path, wish, _RECURSIVE))
    elif wish != "Disabled":
        if not mount.get("readOnly"):
            errors.append(forbidden(path, "may only be specified when readOnly is true"))
        if mount.get("mountPropagation") not in {None, "None"}:
            text = "may only be specified when mountPropagation is None or not specified"
            errors.append(forbidden(path, text))


def validate_devices(container: Object, path: str, scope: Scope, errors: Errors) -> None:
    """The raw devices, which only claims can be."""
    points: set[str] = set()
    taken: set[str] = set()
    mounts = {mount.get("name"): mount.get("mountPath") for mount in container.get("volumeMounts") or ()}
    for i, device in enumerate(container["volumeDevices"]):
        item = f"{path}[{i}]"
        name, point = device.get("name") or "", device.get("devicePath") or ""
        _validate_device_name(name, taken, scope, item, errors)
        _validate_device_path(point, points, item, errors)
        if name in mounts:
            errors.append(invalid(f"{item}.name", name, "must not already exist in volumeMounts"))
        if point in mounts.values():
            errors.append(invalid(f"{item}.devicePath", point, "must not already exist as a path in volumeMounts"))
        if name:
            taken.add(name)


def _validate_device_name(name: str, taken: set[str], scope: Scope, item: str, errors: Errors) -> None:
    volume = scope.volumes.get(name)
    if not name:
        errors.append(required(f"{item}.name"))
    if name in taken:
        errors.append(invalid(f"{item}.name", name, "must be unique"))
    if volume is None:
        errors.append(not_found(f"{item}.name", name))
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        errors.append(invalid(f"{item}.name", name, text))


def _validate_device_path(point: str, points: set[str], item: str, errors: Errors) -> None:
    if not point:
        errors.append(required(f"{item}.devicePath"))
    if point in points:
        errors.append(invalid(f"{item}.devicePath", point, "must be unique"))
    if ".." in point.split("/"):
        errors.append(invalid(f"{item}.devicePath", point, "can not contain backsteps ('..')"))
    else:
        points.add(point)
