"""Annotations that carried pod fields before the fields existed, and some that still mean something.

Seccomp and AppArmor profiles may be given both ways; then they must agree. The annotation that marks the mirror of
a static pod can never be added or taken away.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from flexlet.api import gojson, gotext
from flexlet.api.fielderrors import forbidden, invalid
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.containerlists import containers_with_paths
from flexlet.apiserver.kinds.pod.paths import validate_descending
from flexlet.apiserver.kinds.pod.scheduling import validate_tolerations
from flexlet.apiserver.kinds.pod.scope import Errors
from flexlet.errors import InputError

MIRROR: Final = "kubernetes.io/config.mirror"
TOLERATIONS: Final = "scheduler.alpha.kubernetes.io/tolerations"
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_TEXTS: Final = {"RuntimeDefault": ("runtime/default", "docker/default"), "Unconfined": ("unconfined",)}
_APP_ARMOR_TEXTS: Final = {"RuntimeDefault": ("runtime/default",), "Unconfined": ("unconfined",)}
_is_cost: Final = re.compile(r"0|-[0-9]+|[1-9][0-9]*", re.ASCII).fullmatch
_LOCAL: Final = "localhost/"
_JSON_NAMES: Final = {str: "string", int: "number", float: "number", bool: "bool", dict: "object", list: "array"}


def validate_pod_annotations(annotations: Object, spec: Object, path: str, errors: Errors) -> None:
    """The annotations that mean something to pods."""
    if MIRROR in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(f"{path}[{MIRROR}]", annotations[MIRROR], text))
    if serialized := annotations.get(TOLERATIONS):
        _validate_tolerations(serialized, path, errors)
    if (cost := annotations.get(DELETION_COST)) is not None and not _is_int32(cost):
        errors.append(invalid(f"{path}[{DELETION_COST}]", cost, "must be a 32bit integer"))
    for key, value in annotations.items():
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            _validate_seccomp(value, f"{path}.{key}", errors)
    for key, value in annotations.items():
        if key.startswith(APP_ARMOR):
            _validate_app_armor(key, value, spec, path, errors)


def _is_int32(text: str) -> bool:
    return _is_cost(text) is not None and -(2**31) <= int(text) < 2**31


def _validate_tolerations(serialized: str, path: str, errors: Errors) -> None:
    try:
        tolerations = _read_tolerations(serialized)
    except InputError as error:
        errors.append(invalid(path, TOLERATIONS, error.message))
        return
    validate_tolerations(tolerations, f"{path}.{TOLERATIONS}", errors)


def _read_tolerations(serialized: str) -> list[Object]:
    """The list in the annotation, or Go's complaint about it."""
    value = gojson.decode(serialized.encode())
    for item, wanted, kind in ((value, list, "[]core.Toleration"), *_each(value)):
        if item is not None and not isinstance(item, wanted):
            name = _JSON_NAMES[type(item)]
            raise InputError(f"json: cannot unmarshal {name} into Go value of type {kind}")
    return [item or {} for item in value or ()]


def _each(value: Any) -> list[tuple[Any, type, str]]:
    return [(item, dict, "core.Toleration") for item in value] if isinstance(value, list) else []


def _validate_seccomp(value: str, path: str, errors: Errors) -> None:
    if value.startswith(_LOCAL):
        validate_descending(value.removeprefix(_LOCAL), path, errors)
    elif not any(value in texts for texts in _SECCOMP_TEXTS.values()):
        errors.append(invalid(path, value, "must be a valid seccomp profile"))


def _validate_app_armor(key: str, value: str, spec: Object, path: str, errors: Errors) -> None:
    name = key.removeprefix(APP_ARMOR)
    if not any(container.get("name") == name for container, _ in containers_with_paths(spec, "spec")):
        errors.append(invalid(f"{path}[{key}]", name, "container not found"))
    if value and not value.startswith(_LOCAL) and value not in {"runtime/default", "unconfined"}:
        text = f"invalid AppArmor profile name: {gotext.quote(value)}"
        errors.append(invalid(f"{path}[{key}]", value, text))


def validate_profiles_agree(annotations: Object, spec: Object, path: str, errors: Errors) -> None:
    """A profile given as annotation and as field is the same both times."""
    if not any(key == SECCOMP_POD or key.startswith((SECCOMP_CONTAINER, APP_ARMOR)) for key in annotations):
        return
    context = spec.get("securityContext") or {}
    if SECCOMP_POD in annotations and (profile := context.get("seccompProfile")):
        field = f"{path}.securityContext.seccompProfile"
        _validate_agree("seccomp", annotations[SECCOMP_POD], profile, _SECCOMP_TEXTS, field, errors)
    for container, item in containers_with_paths(spec, path):
        key = f"{SECCOMP_CONTAINER}{container.get('name')}"
        profile = (container.get("securityContext") or {}).get("seccompProfile")
        if profile and key in annotations:
            field = f"{item}.securityContext.seccompProfile"
            _validate_agree("seccomp", annotations[key], profile, _SECCOMP_TEXTS, field, errors)
    if (spec.get("os") or {}).get("name") == "windows":
        return
    for container, item in containers_with_paths(spec, path):
        key = f"{APP_ARMOR}{container.get('name')}"
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        profile = context.get("appArmorProfile") if own is None else own
        if profile and key in annotations:
            field = f"{item}.securityContext.appArmorProfile"
            _validate_agree("apparmor", annotations[key], profile, _APP_ARMOR_TEXTS, field, errors)


def _validate_agree(
    what: str, value: str, profile: Object, texts: Mapping[str, tuple[str, ...]], path: str, errors: Errors
) -> None:
    kind = profile.get("type") or ""
    if kind in texts:
        if value not in texts[kind]:
            errors.append(forbidden(f"{path}.type", f"{what} type in annotation and field must match"))
    elif kind == "Localhost":
        if not value.startswith(_LOCAL):
            errors.append(forbidden(f"{path}.type", f"{what} type in annotation and field must match"))
        elif value.removeprefix(_LOCAL) != profile.get("localhostProfile"):
            text = f"{what} profile in annotation and field must match"
            errors.append(forbidden(f"{path}.localhostProfile", text))


def validate_annotation_changes(obj: Object, old: Object, errors: Errors) -> None:
    """AppArmor and mirror annotations stay as they were when the pod was created."""
    path = "metadata.annotations"
    now, before = ((part.get("metadata") or {}).get("annotations") or {} for part in (obj, old))
    if now == before:
        changed: list[str] = []
    else:
        changed = [key for key in before if now.get(key) != before[key]]
    for key in changed:
        if key.startswith(APP_ARMOR):
            errors.append(forbidden(f"{path}[{key}]", "may not remove or update AppArmor annotations"))
        if key == MIRROR:
            errors.append(forbidden(f"{path}[{key}]", "may not remove or update mirror pod annotation"))
    for key in now.keys() - before.keys():
        if key.startswith(APP_ARMOR):
            errors.append(forbidden(f"{path}[{key}]", "may not add AppArmor annotations"))
        if key == MIRROR:
            errors.append(forbidden(f"{path}[{key}]", "may not add mirror pod annotation"))
    validate_pod_annotations(now, obj.get("spec") or {}, path, errors)
