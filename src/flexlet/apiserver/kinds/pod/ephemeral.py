"""The ``/ephemeralcontainers`` path: containers for looking around can be added, never changed or removed."""

from flexlet.api import gotext
from flexlet.api.fielderrors import FieldError, forbidden
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.pod.annotations import MIRROR, validate_annotation_changes
from flexlet.apiserver.kinds.pod.equality import same
from flexlet.apiserver.kinds.pod.internalform import diff
from flexlet.apiserver.kinds.pod.scope import Rules
from flexlet.apiserver.kinds.pod.spec import validate_pod

_PATH = "spec.ephemeralContainers"


def validate_ephemeral_update(pod: Object, old: Object, rules: Rules) -> list[FieldError]:
    """What is wrong with the new list of ephemeral containers."""
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden("[]", "static pods do not support ephemeral containers")]
    errors = metadata.validate_update(pod, old)
    errors += validate_pod(pod, rules)
    validate_annotation_changes(pod, old, errors)
    now = {container.get("name"): container for container in pod["spec"].get("ephemeralContainers") or ()}
    for before in old["spec"].get("ephemeralContainers") or ():
        quoted = gotext.quote(before.get("name") or "")
        container = now.get(before.get("name"))
        if container is None:
            errors.append(forbidden(_PATH, f"existing ephemeral containers {quoted} may not be removed\n"))
        elif not same(container, before):
            shown = diff(before, container, "EphemeralContainer")
            errors.append(forbidden(_PATH, f"existing ephemeral containers {quoted} may not be changed\n{shown}"))
    return errors
