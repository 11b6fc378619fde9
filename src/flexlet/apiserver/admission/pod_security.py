"""PodSecurity: namespaces say by labels how far their pods may reach into the node.

Pods are refused or warned about; workloads that make pods are only warned about, since they may be repaired
later. A namespace that becomes stricter is told which of its pods would not be let in any more.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from flexlet.api import status
from flexlet.apiserver.admission.refusal import CREATE, UPDATE, forbidden, is_pod
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.contract.request import AdmissionRequest
from flexlet.core.podsecurity.evaluate import in_words, violations
from flexlet.core.podsecurity.policy import (
    PRIVILEGED,
    Policy,
    Standard,
    is_labelled,
    is_stricter,
    label_errors,
    policy_of,
)

TEMPLATED: Final = frozenset(
    {
        ("", "replicationcontrollers"),
        ("apps", "replicasets"),
        ("apps", "deployments"),
        ("apps", "statefulsets"),
        ("apps", "daemonsets"),
        ("batch", "jobs"),
    }
)
POD_SUBRESOURCES: Final = frozenset({"", "ephemeralcontainers"})


class PodSecurity(Plugin):
    """Costs one look at the namespace where it has no labels for it."""

    name = "PodSecurity"

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """Judge pods, templates of pods, and the labels themselves."""
        if request.operation not in {CREATE, UPDATE} or request.obj is None:
            return
        resource = (request.kind.group, request.kind.plural)
        if is_pod(request):
            if request.subresource in POD_SUBRESOURCES:
                _check_pod(request, view)
        elif request.subresource:
            return
        elif resource in TEMPLATED:
            template = (request.obj.get("spec") or {}).get("template") or {}
            _warn(request, policy_of(_labels_of_namespace(request, view)).warn, template)
        elif resource == ("", "namespaces"):
            _check_namespace(request, view)


def _check_pod(request: AdmissionRequest, view: View) -> None:
    labels = _labels_of_namespace(request, view)
    if not is_labelled(labels):
        return
    pod = request.obj or {}
    if request.operation == UPDATE and not _matters(pod.get("spec") or {}, (request.old or {}).get("spec") or {}):
        return
    policy = policy_of(labels)
    found = violations(policy.enforce, pod.get("metadata") or {}, pod.get("spec") or {})
    if found:
        raise forbidden(request, f'violates PodSecurity "{policy.enforce}": {in_words(found)}')
    _warn(request, policy.warn, pod)


def _warn(request: AdmissionRequest, standard: Standard, pod: Object) -> None:
    found = violations(standard, pod.get("metadata") or {}, pod.get("spec") or {})
    if found:
        request.warnings.append(f'would violate PodSecurity "{standard}": {in_words(found)}')


def _matters(spec: Object, old: Object) -> bool:
    """Whether an update changes anything that is judged: of a pod, only images and added containers."""
    return (
        any(_images(spec, key) != _images(old, key) for key in ("containers", "initContainers"))
        or not _images(spec, "ephemeralContainers").items() <= _images(old, "ephemeralContainers").items()
    )


def _images(spec: Object, key: str) -> dict[str, str]:
    return {part.get("name", ""): part.get("image", "") for part in spec.get(key) or ()}


def _labels_of_namespace(request: AdmissionRequest, view: View) -> Mapping[str, str]:
    return _labels(view.get("namespaces", "", request.namespace))


def _labels(namespace: Object | None) -> Mapping[str, str]:
    labels: Mapping[str, str] = ((namespace or {}).get("metadata") or {}).get("labels") or {}
    return labels


def _check_namespace(request: AdmissionRequest, view: View) -> None:
    labels, old_labels = _labels(request.obj), _labels(request.old)
    errors = label_errors(labels)
    if errors and (request.operation == CREATE or errors != label_errors(old_labels)):
        raise status.invalid("Namespace", "", request.name or (request.obj or {})["metadata"]["name"], errors)
    if request.operation == UPDATE:
        new, old = policy_of(labels), policy_of(old_labels)
        if _tightens(new, old):
            request.warnings.extend(_warnings_for(request.name, new.enforce, view.list("pods", request.name)))


def _tightens(new: Policy, old: Policy) -> bool:
    if new.enforce.level == PRIVILEGED or new.enforce == old.enforce:
        return False
    return new.enforce.minor != old.enforce.minor or is_stricter(new.enforce, old.enforce)


def _warnings_for(namespace: str, standard: Standard, pods: Iterable[Object]) -> list[str]:
    """One line per set of reasons, naming the first pod it applies to."""
    offenders: dict[str, list[str]] = {}
    for pod in pods:
        found = violations(standard, pod.get("metadata") or {}, pod.get("spec") or {})
        if found:
            reasons = ", ".join(violation.reason for violation in found)
            offenders.setdefault(reasons, []).append(pod["metadata"]["name"])
    if not offenders:
        return []
    title = f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{standard}"'
    return [title, *sorted(f"{_subject(sorted(names))}: {reasons}" for reasons, names in offenders.items())]


def _subject(names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{names[0]} (and {others} other pod{'s' if others > 1 else ''})"
