"""Changes of a pod's status, which is the node's to report.

Labels and annotations may change on this path too; the spec, owners and the QoS class may not. A container that
has ended for good does not come back.
"""

from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import FieldError, forbidden, invalid
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.pod import reported
from flexlet.apiserver.kinds.pod.annotations import validate_annotation_changes
from flexlet.apiserver.kinds.pod.scope import Errors

_SYSTEM_CONDITIONS: Final = frozenset({"PodScheduled", "Ready", "Initialized"})
_GENERATION: Final = "must be a non-negative integer"
_ENDED: Final = "may not be transitioned to non-terminated state"


def keep_only_status(pod: Object, old: Object) -> None:
    """Put back what a status update may not change, and what older nodes forget to send."""
    pod["spec"] = dict(old["spec"])
    meta, before = pod["metadata"], old["metadata"]
    meta.pop("deletionTimestamp", None)
    if "ownerReferences" in before:
        meta["ownerReferences"] = before["ownerReferences"]
    else:
        meta.pop("ownerReferences", None)
    status, earlier = pod.setdefault("status", {}), old.get("status") or {}
    for key in ("qosClass", "observedGeneration"):
        if not status.get(key) and earlier.get(key):
            status[key] = earlier[key]
    _keep_condition_generations(status.get("conditions") or [], earlier.get("conditions") or [])


def _keep_condition_generations(conditions: list[Object], earlier: list[Object]) -> None:
    """A condition sent without its generation keeps the one it had; equal types are matched in order."""
    known: dict[str, list[int]] = {}
    for condition in earlier:
        known.setdefault(condition.get("type") or "", []).append(condition.get("observedGeneration") or 0)
    for condition in conditions:
        rest = known.get(condition.get("type") or "")
        generation = rest.pop(0) if rest else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def validate_status_update(pod: Object, old: Object) -> list[FieldError]:
    """What is wrong with a new status."""
    errors = metadata.validate_update(pod, old)
    validate_annotation_changes(pod, old, errors)
    status, earlier = pod.get("status") or {}, old.get("status") or {}
    _validate_conditions(status.get("conditions") or [], errors)
    _validate_nomination(status, earlier, old["spec"], errors)
    if (status.get("observedGeneration") or 0) < 0:
        errors.append(invalid("status.observedGeneration", status["observedGeneration"], _GENERATION))
    metadata.validate_immutable(
        status.get("qosClass") or "", earlier.get("qosClass") or "", "status.qosClass", errors
    )
    _validate_transitions(status, earlier, old["spec"], errors)
    reported.validate_claims(status, pod["spec"], errors)
    for key, single in (("podIPs", None), ("hostIPs", "hostIP")):
        reported.validate_addresses(status, earlier, key, single, errors)
    reported.validate_users(status, pod["spec"], errors)
    reported.validate_health(status, pod["spec"], errors)
    return errors


def _validate_conditions(conditions: list[Object], errors: Errors) -> None:
    for i, condition in enumerate(conditions):
        path, kind = f"status.conditions[{i}]", condition.get("type") or ""
        if (condition.get("observedGeneration") or 0) < 0:
            errors.append(invalid(f"{path}.observedGeneration", condition["observedGeneration"], _GENERATION))
        if kind not in _SYSTEM_CONDITIONS:
            errors += [invalid(f"{path}.Type", kind, text) for text in names.qualified_name(kind)]


def _validate_nomination(status: Object, earlier: Object, spec: Object, errors: Errors) -> None:
    """A pod may be nominated for a node only while it has none."""
    path, node = "status.nominatedNodeName", status.get("nominatedNodeName") or ""
    if not node or node == earlier.get("nominatedNodeName"):
        return
    errors += [invalid(path, node, text) for text in names.dns1123_subdomain(node)]
    if spec.get("nodeName"):
        errors.append(forbidden(path, "may not be set on pods that are already bound to a node"))


def _validate_transitions(status: Object, earlier: Object, spec: Object, errors: Errors) -> None:
    """Containers that will not be restarted stay ended."""
    rules = [r for key in ("containers", "initContainers") for c in spec.get(key) or () for r in _rules(c)]
    if not any(rule.get("action") == "RestartAllContainers" for rule in rules):
        for key, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
            by_name = {c.get("name"): c for c in reversed(spec.get(containers) or ())}
            for i, before in _revived(status.get(key) or [], earlier.get(key) or []):
                container = by_name.get(before.get("name"))
                if container is None or not _may_restart(container, spec, before["state"]["terminated"]):
                    errors.append(forbidden(f"status.{key}[{i}].state", _ENDED))
    key = "ephemeralContainerStatuses"
    for i, _ in _revived(status.get(key) or [], earlier.get(key) or []):
        errors.append(forbidden(f"status.{key}[{i}].state", _ENDED))


def _rules(container: Object) -> list[Object]:
    return container.get("restartPolicyRules") or []


def _revived(statuses: list[Object], earlier: list[Object]) -> list[tuple[int, Object]]:
    """Earlier statuses of containers that had ended and now have not."""
    alive = {s.get("name") for s in statuses if (s.get("state") or {}).get("terminated") is None}
    return [
        (i, before)
        for i, before in enumerate(earlier)
        if (before.get("state") or {}).get("terminated") is not None and before.get("name") in alive
    ]


def _may_restart(container: Object, spec: Object, ended: Object) -> bool:
    """Whether a container that ended like this is started again."""
    code, policy = ended.get("exitCode") or 0, container.get("restartPolicy")
    if policy is not None and any(_matches(rule, code) for rule in _rules(container)):
        return True
    wish = policy or spec.get("restartPolicy") or "Always"
    return bool(code) if wish == "OnFailure" else wish == "Always"


def _matches(rule: Object, code: int) -> bool:
    codes = rule.get("exitCodes") or {}
    listed = code in (codes.get("values") or ())
    return listed if codes.get("operator") == "In" else codes.get("operator") == "NotIn" and not listed
