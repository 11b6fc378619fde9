"""The validator of pod specs: all parts, in upstream's order.

Findings come in the order of ``ValidatePodSpec``; clients print them in this order. `validate_new_pod` is a pod on
its own, `validate_spec` also serves the templates of workloads, whose paths start elsewhere.
"""

from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import forbidden, invalid, not_found, not_supported, required
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds import metadata
from flexlet.apiserver.kinds.pod import network, scheduling, windows
from flexlet.apiserver.kinds.pod.affinity import validate_affinity
from flexlet.apiserver.kinds.pod.annotations import validate_pod_annotations, validate_profiles_agree
from flexlet.apiserver.kinds.pod.claims import validate_resource_claims
from flexlet.apiserver.kinds.pod.containerlists import CONTAINER_LISTS
from flexlet.apiserver.kinds.pod.containers import (
    validate_containers,
    validate_ephemeral_containers,
    validate_image_text,
    validate_init_containers,
)
from flexlet.apiserver.kinds.pod.podlevel import validate_pod_level
from flexlet.apiserver.kinds.pod.ports import validate_host_network_ports
from flexlet.apiserver.kinds.pod.resources import validate_overhead
from flexlet.apiserver.kinds.pod.scope import Errors, Rules, Scope
from flexlet.apiserver.kinds.pod.security import validate_pod_security
from flexlet.apiserver.kinds.pod.volumes import validate_volumes

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
SYSTEMS: Final = ("linux", "windows")
_MAX_INT32: Final = 2**31 - 1


def validate_new_pod(pod: Object, rules: Rules) -> Errors:
    """What is wrong with a pod that is to be created."""
    errors = validate_pod(pod, rules)
    spec = pod["spec"]
    if spec.get("ephemeralContainers"):
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        text = "cannot be set until all schedulingGates have been cleared"
        errors.append(forbidden("spec.nodeName", text))
    validate_profiles_agree(pod["metadata"].get("annotations") or {}, spec, "spec", errors)
    return errors


def validate_pod(pod: Object, rules: Rules) -> Errors:
    """What is wrong with the metadata and the spec of a pod, new or changed."""
    meta, spec = pod["metadata"], pod["spec"]
    errors = metadata.validate(pod, names.dns1123_subdomain)
    if annotations := meta.get("annotations"):
        validate_pod_annotations(annotations, spec, "metadata.annotations", errors)
    validate_spec(spec, meta, "spec", rules, errors)
    if not spec.get("serviceAccountName"):
        _validate_no_tokens(spec.get("volumes") or [], errors)
    for key in ("containers", "initContainers"):
        for i, container in enumerate(spec.get(key) or ()):
            validate_image_text(container, f"spec.{key}[{i}]", errors)
    return errors


def _validate_no_tokens(volumes: list[Object], errors: Errors) -> None:
    for i, volume in enumerate(volumes):
        for j, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                field = f"spec.volumes[{i}].projected.sources[{j}].serviceAccountToken"
                errors.append(forbidden(field, "must not be specified when serviceAccountName is not set"))


def validate_spec(spec: Object, meta: Object, path: str, rules: Rules, errors: Errors) -> None:
    """All parts of a spec; `meta` is empty for a template, whose pods have other names."""
    if spec.get("terminationGracePeriodSeconds") is None:
        errors.append(required(f"{path}.terminationGracePeriodSeconds"))
    scope = _scope(spec, meta, path, rules, errors)
    if claims := spec.get("resourceClaims"):
        validate_resource_claims(claims, meta.get("annotations") or {}, f"{path}.resourceClaims", errors)
    validate_containers(spec.get("containers") or [], f"{path}.containers", scope, errors)
    if spec.get("initContainers"):
        validate_init_containers(spec, f"{path}.initContainers", scope, errors)
    if spec.get("ephemeralContainers"):
        validate_ephemeral_containers(spec, f"{path}.ephemeralContainers", scope, errors)
    if rules.pod_level_resources and spec.get("resources") is not None:
        validate_pod_level(spec, path, scope.claims, errors)
    _validate_policies(spec, path, rules, errors)
    _validate_placement(spec, path, errors)
    windows.validate_host_process(spec, path, errors)
    network.validate_host_users(spec, path, errors)
    network.validate_hostname_override(spec, path, errors)
    _validate_names(spec, path, errors)
    _validate_rest(spec, path, errors)
    _validate_file_keys(spec, path, errors)


def _scope(spec: Object, meta: Object, path: str, rules: Rules, errors: Errors) -> Scope:
    """Check the volumes, and collect what containers refer to."""
    volumes = spec.get("volumes")
    name = meta.get("name") or ""
    return Scope(
        rules=rules,
        volumes=validate_volumes(volumes, name, f"{path}.volumes", rules, errors) if volumes else {},
        claims=frozenset(c["name"] for c in spec.get("resourceClaims") or () if c.get("name")),
        grace_period_s=spec.get("terminationGracePeriodSeconds"),
        restart_policy=spec.get("restartPolicy") or "",
        host_users=spec.get("hostUsers") is not False,
    )


def _validate_policies(spec: Object, path: str, rules: Rules, errors: Errors) -> None:
    if spec.get("hostNetwork"):
        containers = spec.get("containers") or []
        validate_host_network_ports(containers, f"{path}.containers", errors, is_pod=rules.is_pod)
    policy = spec.get("restartPolicy")
    if not policy:
        errors.append(required(f"{path}.restartPolicy"))
    elif policy not in RESTART_POLICIES:
        errors.append(not_supported(f"{path}.restartPolicy", policy, RESTART_POLICIES))
    network.validate_dns_policy(spec.get("dnsPolicy"), f"{path}.dnsPolicy", errors)
    if selector := spec.get("nodeSelector"):
        metadata.validate_labels(selector, f"{path}.nodeSelector", errors)
    validate_pod_security(spec, f"{path}.securityContext", errors)


def _validate_placement(spec: Object, path: str, errors: Errors) -> None:
    if affinity := spec.get("affinity"):
        validate_affinity(affinity, f"{path}.affinity", errors)
    network.validate_dns_config(spec.get("dnsConfig"), spec.get("dnsPolicy"), f"{path}.dnsConfig", errors)
    if gates := spec.get("readinessGates"):
        scheduling.validate_readiness_gates(gates, f"{path}.readinessGates", errors)
    if gates := spec.get("schedulingGates"):
        scheduling.validate_scheduling_gates(gates, f"{path}.schedulingGates", errors)
    if constraints := spec.get("topologySpreadConstraints"):
        scheduling.validate_spread(constraints, f"{path}.topologySpreadConstraints", errors)


def _validate_names(spec: Object, path: str, errors: Errors) -> None:
    for key in ("serviceAccountName", "nodeName"):
        if name := spec.get(key):
            errors += [invalid(f"{path}.{key}", name, text) for text in names.dns1123_subdomain(name)]
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MAX_INT32:
        errors.append(invalid(f"{path}.activeDeadlineSeconds", deadline, names.out_of_range(1, _MAX_INT32)))
    for key in ("hostname", "subdomain"):
        if name := spec.get(key):
            errors += [invalid(f"{path}.{key}", name, text) for text in names.dns1123_label(name)]


def _validate_rest(spec: Object, path: str, errors: Errors) -> None:
    if tolerations := spec.get("tolerations"):
        scheduling.validate_tolerations(tolerations, f"{path}.tolerations", errors)
    if aliases := spec.get("hostAliases"):
        network.validate_host_aliases(aliases, f"{path}.hostAliases", errors)
    if name := spec.get("priorityClassName"):
        errors += [invalid(f"{path}.priorityClassName", name, text) for text in names.dns1123_subdomain(name)]
    if (runtime := spec.get("runtimeClassName")) is not None:
        errors += [invalid(f"{path}.runtimeClassName", runtime, text) for text in names.dns1123_subdomain(runtime)]
    if (preemption := spec.get("preemptionPolicy")) is not None:
        _validate_preemption(preemption, f"{path}.preemptionPolicy", errors)
    if overhead := spec.get("overhead"):
        validate_overhead(overhead, f"{path}.overhead", errors)
    if (system := spec.get("os")) is not None:
        _validate_system(system.get("name") or "", spec, path, errors)


def _validate_preemption(policy: str, path: str, errors: Errors) -> None:
    if not policy:
        errors.append(required(path))
    elif policy not in {"PreemptLowerPriority", "Never"}:
        errors.append(not_supported(path, policy, ("PreemptLowerPriority", "Never")))


def _validate_system(name: str, spec: Object, path: str, errors: Errors) -> None:
    if not name:
        errors.append(required(f"{path}.os.name"))
    elif name == "linux":
        windows.validate_linux(spec, path, errors)
    elif name == "windows":
        windows.validate_windows(spec, path, errors)
    else:
        errors.append(not_supported(f"{path}.os", name, SYSTEMS))


def _validate_file_keys(spec: Object, path: str, errors: Errors) -> None:
    """A variable that comes from a file needs that file's volume, an emptyDir."""
    for key in CONTAINER_LISTS:
        for i, container in enumerate(spec.get(key) or ()):
            for j, variable in enumerate(container.get("env") or ()):
                reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
                if reference is not None:
                    field = f"{path}.{key}[{i}].env[{j}].valueFrom.fileKeyRef.volumeName"
                    _validate_file_volume(reference.get("volumeName") or "", spec, field, errors)


def _validate_file_volume(name: str, spec: Object, path: str, errors: Errors) -> None:
    volumes = {volume.get("name") or "": volume for volume in spec.get("volumes") or ()}
    if name not in volumes:
        errors.append(not_found(path, name))
    elif volumes[name].get("emptyDir") is None:
        errors.append(invalid(path, name, "referenced volume must be of type emptyDir"))
