"""Volumes that show API objects as files: keys of ConfigMaps and Secrets, fields of the pod."""

from collections.abc import Callable
from typing import Final

from flexlet.api.fielderrors import invalid, required
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.environment import validate_field_ref, validate_resource_field_ref
from flexlet.apiserver.kinds.pod.paths import validate_file_name
from flexlet.apiserver.kinds.pod.scope import Errors

MAX_MODE: Final = 0o777
VOLUME_FIELDS: Final = (
    *("metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"),
)


def validate_mode(mode: int | None, path: str, errors: Errors) -> None:
    """Permission bits."""
    if mode is not None and not 0 <= mode <= MAX_MODE:
        errors.append(invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive"))


def validate_keyed(name_key: str) -> Callable[[Object, str, Errors], None]:
    """The rules of a ConfigMap or Secret volume; they differ in what the name is called."""

    def validate(value: Object, path: str, errors: Errors) -> None:
        if not value.get(name_key):
            errors.append(required(f"{path}.{name_key}"))
        validate_mode(value.get("defaultMode"), f"{path}.defaultMode", errors)
        for i, item in enumerate(value.get("items") or ()):
            validate_key_to_path(item, f"{path}.items[{i}]", errors)

    return validate


def validate_key_to_path(item: Object, path: str, errors: Errors) -> None:
    """One key as one file."""
    file = item.get("path") or ""
    if not item.get("key"):
        errors.append(required(f"{path}.key"))
    if not file:
        errors.append(required(f"{path}.path"))
    validate_file_name(file, f"{path}.path", errors)
    validate_mode(item.get("mode"), f"{path}.mode", errors)


def validate_downward_api(value: Object, path: str, errors: Errors) -> None:
    """Fields of the pod as files; upstream reports the items at the volume."""
    validate_mode(value.get("defaultMode"), f"{path}.defaultMode", errors)
    for item in value.get("items") or ():
        validate_downward_file(item, path, errors)


def validate_downward_file(item: Object, path: str, errors: Errors) -> None:
    """One field or amount as one file."""
    file, field, amount = item.get("path") or "", item.get("fieldRef"), item.get("resourceFieldRef")
    if not file:
        errors.append(required(f"{path}.path"))
    validate_file_name(file, f"{path}.path", errors)
    if field is not None:
        validate_field_ref(field, VOLUME_FIELDS, f"{path}.fieldRef", errors)
        if amount is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", text))
    elif amount is not None:
        validate_resource_field_ref(amount, f"{path}.resourceFieldRef", errors, needs_container=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    validate_mode(item.get("mode"), f"{path}.mode", errors)
