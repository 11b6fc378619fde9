"""Changes of a pod through its main path: images, deadlines, tolerations, gates; nothing else.

Follows ``ValidatePodUpdate``: what may change is checked by itself and then put back, and whatever still differs
is refused with a diff.
"""

from typing import Any, Final

from flexlet.api import names
from flexlet.api.fielderrors import FieldError, forbidden, invalid, required
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.pod.annotations import validate_annotation_changes
from flexlet.apiserver.kinds.pod.equality import same
from flexlet.apiserver.kinds.pod.gated import put_back_node_choice
from flexlet.apiserver.kinds.pod.internalform import diff
from flexlet.apiserver.kinds.pod.scheduling import validate_tolerations
from flexlet.apiserver.kinds.pod.scope import Errors, Rules
from flexlet.apiserver.kinds.pod.spec import validate_pod

MAX_INT32: Final = 2**31 - 1
_MUTABLE: Final = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_CONTAINER_LISTS: Final = ("containers", "initContainers")


def validate_pod_update(pod: Object, old: Object, rules: Rules) -> list[FieldError]:
    """What is wrong with changing `old` into `pod`."""
    errors = metadata.validate_update(pod, old)
    errors += validate_pod(pod, rules)
    validate_annotation_changes(pod, old, errors)
    spec, before = pod["spec"], old["spec"]
    for key in _CONTAINER_LISTS:
        if not _validate_images(spec.get(key) or [], before.get(key) or [], f"spec.{key}", errors):
            return errors
    if not _validate_deadline(spec, before, errors):
        return errors
    _validate_added_tolerations(spec.get("tolerations") or [], before.get("tolerations") or [], errors)
    _validate_removed_gates(spec.get("schedulingGates") or [], before.get("schedulingGates") or [], errors)
    if not same(spec, before):
        _validate_nothing_else(spec, before, errors)
    return errors


def _validate_images(containers: list[Object], before: list[Object], path: str, errors: Errors) -> bool:
    """Whether there are as many containers as before; then images may differ."""
    if len(containers) != len(before):
        errors.append(forbidden(path, "pod updates may not add or remove containers"))
        return False
    for i, container in enumerate(containers):
        image = container.get("image") or ""
        if not image:
            errors.append(required(f"{path}[{i}].image"))
        if image != image.strip():
            text = "must not have leading or trailing whitespace"
            errors.append(invalid(f"{path}[{i}].image", image, text))
    return True


def _validate_deadline(spec: Object, before: Object, errors: Errors) -> bool:
    """Whether to go on: a deadline may appear and come closer."""
    path = "spec.activeDeadlineSeconds"
    deadline, earlier = spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if deadline is None:
        if earlier is not None:
            errors.append(invalid(path, None, "must not update from a positive integer to nil value"))
        return True
    if not 0 <= deadline <= MAX_INT32:
        errors.append(invalid(path, deadline, names.out_of_range(0, MAX_INT32)))
        return False
    if earlier is not None and earlier < deadline:
        errors.append(invalid(path, deadline, "must be less than or equal to previous value"))
        return False
    return True


def _validate_added_tolerations(tolerations: list[Object], before: list[Object], errors: Errors) -> None:
    known = {_without_seconds(toleration) for toleration in tolerations}
    for toleration in before:
        if _without_seconds(toleration) not in known:
            text = "existing toleration can not be modified except its tolerationSeconds"
            errors.append(forbidden("spec.tolerations", text))
            return
    validate_tolerations(tolerations, "spec.tolerations", errors)


def _without_seconds(toleration: Object) -> frozenset[tuple[str, Any]]:
    return frozenset((key, value) for key, value in toleration.items() if key != "tolerationSeconds")


def _validate_removed_gates(gates: list[Object], before: list[Object], errors: Errors) -> None:
    known = {gate.get("name") for gate in before}
    # Where a name stands twice, upstream points at the last.
    added = {gate.get("name"): i for i, gate in enumerate(gates) if gate.get("name") not in known}
    for name, i in added.items():
        text = f"only deletion is allowed, but found new scheduling gate '{name}'"
        errors.append(forbidden(f"spec.schedulingGates[{i}].name", text))


def _validate_nothing_else(spec: Object, before: Object, errors: Errors) -> None:
    rest = dict(spec)
    for key in _CONTAINER_LISTS:
        if containers := spec.get(key):
            pairs = zip(containers, before[key], strict=True)
            rest[key] = [{**container, "image": earlier.get("image")} for container, earlier in pairs]
    for key in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        rest[key] = before.get(key)
    if (before.get("terminationGracePeriodSeconds") or 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        rest["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    if before.get("schedulingGates"):
        put_back_node_choice(rest, before, errors)
    if not same(rest, before):
        shown = diff(before, rest, "PodSpec")
        errors.append(forbidden("spec", f"pod updates may not change fields other than {_MUTABLE}\n{shown}"))
