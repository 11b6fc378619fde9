"""What a client is told about a pod that is accepted all the same: things deprecated, doubled or without effect.

`spec_warnings` serves templates too, whose paths have a prefix. Follows ``pkg/api/pod/warnings.go``; volumes and
ports have their own files.
"""

from typing import Final

from flexlet.api import gotext, names
from flexlet.api.quantity import Quantity
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.affinity import PREFERRED, REQUIRED
from flexlet.apiserver.kinds.pod.annotations import APP_ARMOR, SECCOMP_CONTAINER, SECCOMP_POD
from flexlet.apiserver.kinds.pod.containerlists import containers_with_paths
from flexlet.apiserver.kinds.pod.creation import app_armor_profile
from flexlet.apiserver.kinds.pod.oddaddresses import address_warnings
from flexlet.apiserver.kinds.pod.portwarnings import port_warnings
from flexlet.apiserver.kinds.pod.volumewarnings import volume_warnings

Warnings = list[str]

_REPLACED: Final = (
    ("beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"),
    ("beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"),
    ("failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"),
    ("failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"),
    ("beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type"),
)
DEPRECATED_LABELS: Final = {
    **{old: f'deprecated since {since}; use "{new}" instead' for old, since, new in _REPLACED},
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_DEPRECATED_ANNOTATIONS: Final = (
    ("scheduler.alpha.kubernetes.io/critical-pod", "non-functional in v1.16+", "priorityClassName"),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+", "sysctls"),
    ("security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+", "sysctls"),
)
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
_BYTES: Final = ("memory", "ephemeral-storage")


def pod_warnings(pod: Object) -> Warnings:
    """Warnings about a new pod."""
    return [*name_warnings(pod), *spec_warnings(pod["spec"], pod["metadata"], "")]


def name_warnings(pod: Object) -> Warnings:
    """Warnings about a pod's name alone."""
    complaints = names.dns1123_label(pod["metadata"].get("name") or "")
    if not complaints:
        return []
    text = (
        "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended"
    )
    return [f"metadata.name: {text}: [{' '.join(complaints)}]"]


def spec_warnings(spec: Object, meta: Object, prefix: str) -> Warnings:
    """Warnings about a spec and its metadata; `prefix` is empty for a pod, ``spec.template.`` in a workload."""
    path, annotations = f"{prefix}spec", meta.get("annotations") or {}
    warnings: Warnings = []
    _warn_labels(spec, path, warnings)
    for key, since, instead in _DEPRECATED_ANNOTATIONS:
        if key in annotations:
            warnings.append(f'{prefix}metadata.annotations[{key}]: {since}; use the "{instead}" field instead')
    warnings += volume_warnings(spec.get("volumes") or [], f"{path}.volumes")
    _warn_doubles(spec, path, warnings)
    _warn_fractions({"": spec.get("overhead") or {}}, f"{path}.overhead", warnings)
    if SECCOMP_POD in annotations and (spec.get("securityContext") or {}).get("seccompProfile") is None:
        warnings.append(_seccomp_text(prefix, SECCOMP_POD))
    for container, item in containers_with_paths(spec, path):
        if annotations:
            _warn_profiles(container, spec, annotations, prefix, warnings)
        _warn_fractions(container.get("resources") or {}, f"{item}.resources", warnings)
        _warn_hidden_variables(container.get("env") or [], f"{item}.env", warnings)
    warnings += port_warnings(spec, path)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        warnings.append(f"{path}.terminationGracePeriodSeconds: {text}")
    _warn_pod_affinity(spec.get("affinity") or {}, f"{path}.affinity", warnings)
    warnings += address_warnings(spec, path)
    return warnings


def _warn_labels(spec: Object, path: str, warnings: Warnings) -> None:
    for key in spec.get("nodeSelector") or ():
        if key in DEPRECATED_LABELS:
            warnings.append(f"{path}.nodeSelector[{key}]: {DEPRECATED_LABELS[key]}")
    if nodes := (spec.get("affinity") or {}).get("nodeAffinity"):
        _warn_node_affinity(nodes, f"{path}.affinity.nodeAffinity", warnings)
    for i, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        item, key = f"{path}.topologySpreadConstraints[{i}]", constraint.get("topologyKey")
        if key in DEPRECATED_LABELS:
            warnings.append(f"{item}.topologyKey: {key} is {DEPRECATED_LABELS[key]}")
        if constraint.get("labelSelector") is None:
            warnings.append(f"{item}.labelSelector: {_NO_SELECTOR}")


def _warn_node_affinity(nodes: Object, path: str, warnings: Warnings) -> None:
    for i, term in enumerate((nodes.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        _warn_term(term, f"{path}.{REQUIRED}.nodeSelectorTerms[{i}]", warnings)
    for i, weighted in enumerate(nodes.get(PREFERRED) or ()):
        term, item = weighted.get("preference") or {}, f"{path}.{PREFERRED}[{i}].preference"
        _warn_term(term, item, warnings, values=True)


def _warn_term(term: Object, path: str, warnings: Warnings, *, values: bool = False) -> None:
    for i, expression in enumerate(term.get("matchExpressions") or ()):
        item, key = f"{path}.matchExpressions[{i}]", expression.get("key")
        if key in DEPRECATED_LABELS:
            warnings.append(f"{item}.key: {key} is {DEPRECATED_LABELS[key]}")
        for j, value in enumerate(expression.get("values") or () if values else ()):
            complaints = names.label_value(value)
            warnings += [f"{item}.values[{j}]: {value} is invalid, {text}" for text in complaints]


def _warn_doubles(spec: Object, path: str, warnings: Warnings) -> None:
    for key, field in (("hostAliases", "ip"), ("imagePullSecrets", "name")):
        seen: set[str] = set()
        for i, item in enumerate(spec.get(key) or ()):
            value = item.get(field) or ""
            if value in seen:
                warnings.append(f"{path}.{key}[{i}].{field}: duplicate {field} {gotext.quote(value)}")
            seen.add(value)
    for i, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            warnings.append(f'{path}.imagePullSecrets[{i}].name: invalid empty name ""')


def _warn_fractions(lists: Object, path: str, warnings: Warnings) -> None:
    """Bytes come in whole numbers; limits before requests, memory before storage."""
    for name in _BYTES:
        for key in ("", "limits", "requests"):
            text = (lists.get(key) or {}).get(name)
            if text is not None and Quantity.parse(text).milli % 1000:
                field = f"{path}.{key}[{name}]" if key else f"{path}[{name}]"
                warnings.append(f'{field}: fractional byte value "{text}" is invalid, must be an integer')


def _seccomp_text(prefix: str, key: str) -> str:
    text = 'non-functional in v1.27+; use the "seccompProfile" field instead'
    return f"{prefix}metadata.annotations[{key}]: {text}"


def _warn_profiles(container: Object, spec: Object, annotations: Object, prefix: str, warnings: Warnings) -> None:
    context, name = container.get("securityContext") or {}, container.get("name")
    key = f"{SECCOMP_CONTAINER}{name}"
    if key in annotations and context.get("seccompProfile") is None:
        warnings.append(_seccomp_text(prefix, key))
    key = f"{APP_ARMOR}{name}"
    # In a real pod the annotation has become a field by now.
    if prefix and key in annotations and context.get("appArmorProfile") is None:
        whole = (spec.get("securityContext") or {}).get("appArmorProfile")
        if whole is None or app_armor_profile(annotations[key]) != whole:
            text = 'deprecated since v1.30; use the "appArmorProfile" field instead'
            warnings.append(f"{prefix}metadata.annotations[{key}]: {text}")


def _warn_hidden_variables(variables: list[Object], path: str, warnings: Warnings) -> None:
    """A variable set twice is lost, unless the second one builds on the first."""
    seen: set[str] = set()
    for i, variable in enumerate(variables):
        name, value = variable.get("name") or "", variable.get("value") or ""
        reference = f"$({name})"
        builds = reference in value and value != reference and variable.get("valueFrom") is None
        if name in seen and not builds:
            text = f"hides previous definition of {gotext.quote(name)}, which may be dropped when using apply"
            warnings.append(f"{path}[{i}]: {text}")
        seen.add(name)


def _warn_pod_affinity(affinity: Object, path: str, warnings: Warnings) -> None:
    for key in ("podAffinity", "podAntiAffinity"):
        part = affinity.get(key) or {}
        for i, term in enumerate(part.get(REQUIRED) or ()):
            if term.get("labelSelector") is None:
                warnings.append(f"{path}.{key}.{REQUIRED}[{i}].labelSelector: {_NO_SELECTOR}")
        for i, weighted in enumerate(part.get(PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                warnings.append(f"{path}.{key}.{PREFERRED}[{i}].podAffinityTerm.labelSelector: {_NO_SELECTOR}")
