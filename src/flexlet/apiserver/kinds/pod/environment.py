"""Environment variables of a container, and the pod fields and amounts they may refer to.

The references (`validate_field_ref`, `validate_resource_field_ref`) serve downward API volumes as well, which
allow a slightly different set of fields.
"""

from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import FieldError, invalid, not_supported, required
from flexlet.api.quantity import Quantity
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.paths import validate_no_backsteps
from flexlet.apiserver.kinds.pod.scope import Errors

ENV_FIELDS: Final = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_POD_FIELDS: Final = frozenset(
    {
        *ENV_FIELDS,
        *("metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase"),
        "spec.host",
    }
)
_AMOUNT_FIELDS: Final = (
    *("limits.cpu", "limits.ephemeral-storage", "limits.memory"),
    *("requests.cpu", "requests.ephemeral-storage", "requests.memory"),
)
_HUGEPAGES: Final = ("requests.hugepages-", "limits.hugepages-")
_BYTE_DIVISORS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_DIVISORS: Final = {
    "cpu": (("1m", "1"), "1m and 1", "cpu"),
    "memory": (_BYTE_DIVISORS, ", ".join(_BYTE_DIVISORS), "memory"),
    "ephemeral-storage": (_BYTE_DIVISORS, ", ".join(_BYTE_DIVISORS), "local ephemeral storage"),
    "hugepages": (_BYTE_DIVISORS, ", ".join(_BYTE_DIVISORS), "hugepages"),
}
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def validate_env(variables: list[Object], path: str, errors: Errors) -> None:
    """The variables of a container."""
    for i, variable in enumerate(variables):
        name = variable.get("name")
        if not name:
            errors.append(required(f"{path}[{i}].name"))
        elif complaints := names.env_var_name(name):
            errors += [invalid(f"{path}[{i}].name", name, text) for text in complaints]
        if (source := variable.get("valueFrom")) is not None:
            _validate_source(source, variable.get("value"), f"{path}[{i}].valueFrom", errors)


def validate_env_from(sources: list[Object], path: str, errors: Errors) -> None:
    """Whole ConfigMaps and Secrets as variables."""
    for i, source in enumerate(sources):
        if prefix := source.get("prefix"):
            errors += [invalid(f"{path}[{i}].prefix", prefix, text) for text in names.env_var_name(prefix)]
        found = [key for key in ("configMapRef", "secretRef") if source.get(key) is not None]
        for key in found:
            _validate_object_name(source[key], f"{path}[{i}].{key}", errors)
        # Upstream reports these two at the list, not at the item.
        if not found:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(found) > 1:
            errors.append(invalid(path, "", "may not have more than one field specified at a time"))


def _validate_object_name(reference: Object, path: str, errors: Errors) -> None:
    name = reference.get("name")
    if not name:
        errors.append(required(f"{path}.name"))
    else:
        complaints = names.dns1123_subdomain(names.as_prefix(name))
        errors += [invalid(f"{path}.name", name, text) for text in complaints]


def _validate_source(source: Object, value: str | None, path: str, errors: Errors) -> None:
    found = [key for key in _SOURCES if source.get(key) is not None]
    for key in found:
        _validate_reference(key, source[key], f"{path}.{key}", errors)
    if not found:
        listed = ", ".join(f"`{key}`" for key in _SOURCES[:-1])
        text = f"must specify one of: {listed} or `{_SOURCES[-1]}`"
        errors.append(invalid(path, "", text))
    elif value:
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(found) > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))


def _validate_reference(key: str, reference: Object, path: str, errors: Errors) -> None:
    if key == "fieldRef":
        validate_field_ref(reference, ENV_FIELDS, path, errors)
    elif key == "resourceFieldRef":
        validate_resource_field_ref(reference, path, errors, needs_container=False)
    elif key == "fileKeyRef":
        _validate_file_key(reference, path, errors)
    else:
        _validate_key(reference, path, errors)


def _validate_key(reference: Object, path: str, errors: Errors) -> None:
    """A key of a ConfigMap or Secret."""
    name, key = reference.get("name") or "", reference.get("key") or ""
    errors += [invalid(f"{path}.name", name, text) for text in names.dns1123_subdomain(name)]
    if not key:
        errors.append(required(f"{path}.key"))
    else:
        errors += [invalid(f"{path}.key", key, text) for text in names.config_map_key(key)]


def _validate_file_key(reference: Object, path: str, errors: Errors) -> None:
    """A key of a file in a volume."""
    key, volume, file = (reference.get(name) or "" for name in ("key", "volumeName", "path"))
    if not key:
        errors.append(required(f"{path}.key"))
    else:
        errors += [invalid(f"{path}.key", key, text) for text in names.env_var_name(key)]
    if not volume:
        errors.append(required(f"{path}.volumeName"))
    else:
        errors += [invalid(f"{path}.volumeName", volume, text) for text in names.dns1123_label(volume)]
    if not file:
        errors.append(required(f"{path}.path"))
    else:
        validate_no_backsteps(file, f"{path}.path", errors)


def validate_field_ref(reference: Object, allowed: tuple[str, ...], path: str, errors: Errors) -> None:
    """A field of the pod, or one label or annotation of it."""
    version, field = reference.get("apiVersion") or "", reference.get("fieldPath") or ""
    if not version or not field:
        errors.append(required(f"{path}.{'fieldPath' if version else 'apiVersion'}"))
        return
    map_field, subscript = _split_subscript(field)
    if complaint := _conversion_complaint(version, field, map_field):
        errors.append(invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {complaint}"))
    elif map_field:
        key = subscript.lower() if map_field == "metadata.annotations" else subscript
        errors += [invalid(path, key, text) for text in names.qualified_name(key)]
    elif _current_name(field) not in allowed:
        errors.append(not_supported(f"{path}.fieldPath", _current_name(field), sorted(allowed)))


def _split_subscript(field: str) -> tuple[str, str]:
    """``metadata.labels['a']`` is the map and a key; anything else has neither."""
    head, bracket, subscript = field.removesuffix("']").partition("['")
    return (head, subscript) if field.endswith("']") and bracket and head else ("", "")


def _conversion_complaint(version: str, field: str, map_field: str) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if map_field:
        known = map_field in {"metadata.annotations", "metadata.labels"}
        return "" if known else f"field label does not support subscript: {field}"
    return "" if field in _POD_FIELDS else f"field label not supported: {field}"


def _current_name(field: str) -> str:
    """``spec.host`` is what nodeName was called once."""
    return "spec.nodeName" if field == "spec.host" else field


def validate_resource_field_ref(reference: Object, path: str, errors: Errors, *, needs_container: bool) -> None:
    """A request or limit of a container; volumes must say of which."""
    resource = reference.get("resource") or ""
    if needs_container and not reference.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not resource:
        errors.append(required(f"{path}.resource"))
    elif resource not in _AMOUNT_FIELDS and not resource.startswith(_HUGEPAGES):
        errors.append(not_supported(f"{path}.resource", resource, _AMOUNT_FIELDS))
    if error := _divisor_error(resource, reference.get("divisor"), path):
        errors.append(error)


def _divisor_error(resource: str, divisor: str | None, path: str) -> FieldError | None:
    if divisor is None or not Quantity.parse(divisor):
        return None
    name = "hugepages" if resource.startswith(_HUGEPAGES) else resource.partition(".")[2]
    if name not in _DIVISORS or (name != "hugepages" and resource not in _AMOUNT_FIELDS):
        return None
    allowed, shown, kind = _DIVISORS[name]
    if divisor in allowed:
        return None
    text = f"only divisor's values {shown} are supported with the {kind} resource"
    return invalid(f"{path}.divisor", resource, text)
