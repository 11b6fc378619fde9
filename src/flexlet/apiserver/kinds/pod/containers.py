"""Regular, init and ephemeral containers: what all have in common, and what each may not have."""

from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import (
    INVALID,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.containerdefaults import PROBES
from flexlet.apiserver.kinds.pod.environment import validate_env, validate_env_from
from flexlet.apiserver.kinds.pod.mounts import validate_devices, validate_mounts
from flexlet.apiserver.kinds.pod.ports import validate_host_ports_apart, validate_ports
from flexlet.apiserver.kinds.pod.probes import validate_probes
from flexlet.apiserver.kinds.pod.resources import validate_container_requirements
from flexlet.apiserver.kinds.pod.restarts import (
    resize_policies_shown,
    validate_init_restart_policy,
    validate_resize_policy,
    validate_restart_policy,
)
from flexlet.apiserver.kinds.pod.scope import Errors, Scope
from flexlet.apiserver.kinds.pod.security import validate_container_security

PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_NO_LISTS: Final = ("ports", "resources", "resizePolicy", "restartPolicyRules")
_NO_STRUCTS: Final = ("restartPolicy", *PROBES, "lifecycle")
_EPHEMERAL: Final = "cannot be set for an Ephemeral Container"
_INIT: Final = "may not be set for init containers without restartPolicy=Always"


def validate_containers(containers: list[Object], path: str, scope: Scope, errors: Errors) -> None:
    """The regular containers; there is at least one."""
    if not containers:
        errors.append(required(path))
        return
    taken: set[str] = set()
    for i, container in enumerate(containers):
        item = f"{path}[{i}]"
        _validate_any(container, item, scope, errors)
        name = container.get("name") or ""
        if name in taken:
            errors.append(duplicate(f"{item}.name", name))
        taken.add(name)
        validate_probes(container, item, scope, errors)
        validate_restart_policy(container, item, errors)
    validate_host_ports_apart(containers, path, errors)


def validate_init_containers(spec: Object, path: str, scope: Scope, errors: Errors) -> None:
    """Init containers and sidecars; their names must differ from those of the regular ones."""
    taken = {container.get("name") for container in spec.get("containers") or ()}
    for i, container in enumerate(spec.get("initContainers") or ()):
        item, name = f"{path}[{i}]", container.get("name") or ""
        _validate_any(container, item, scope, errors)
        validate_init_restart_policy(container, item, errors)
        if name in taken:
            errors.append(duplicate(f"{item}.name", name))
        elif name:
            taken.add(name)
        # They run one by one, so only a container's own host ports can collide.
        validate_host_ports_apart([container], path, errors)
        _validate_init_only(container, item, scope, errors)


def _validate_init_only(container: Object, path: str, scope: Scope, errors: Errors) -> None:
    sidecar = container.get("restartPolicy") == "Always"
    if sidecar:
        validate_probes(container, path, scope, errors)
    else:
        stays = ("lifecycle", *PROBES)
        errors += [forbidden(f"{path}.{key}", _INIT) for key in stays if container.get(key) is not None]
    policies = container.get("resizePolicy") or ()
    if policies and not scope.rules.sidecar_resize_policy:
        text = f"Invalid value: {resize_policies_shown(policies)}: must not be set for init containers"
        errors.append(FieldError(f"{path}.resizePolicy", INVALID, text))
    for i, policy in enumerate(policies):
        if not sidecar and policy.get("restartPolicy") == "RestartContainer":
            field = f"{path}.resizePolicy[{i}].restartPolicy"
            text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            errors.append(invalid(field, "RestartContainer", text))


def validate_ephemeral_containers(spec: Object, path: str, scope: Scope, errors: Errors) -> None:
    """Containers added to a pod that runs, for looking around."""
    others = {c.get("name") for key in ("containers", "initContainers") for c in spec.get(key) or ()}
    taken = set(others)
    for i, container in enumerate(spec.get("ephemeralContainers") or ()):
        item, name = f"{path}[{i}]", container.get("name") or ""
        _validate_any(container, item, scope, errors)
        validate_image_text(container, item, errors)
        if name in taken:
            errors.append(duplicate(f"{item}.name", name))
        taken.add(name)
        target = container.get("targetContainerName")
        if target and target not in others:
            errors.append(not_found(f"{item}.targetContainerName", target))
        errors += [forbidden(f"{item}.{key}", _EPHEMERAL) for key in _set_in_vain(container)]
        for j, mount in enumerate(container.get("volumeMounts") or ()):
            field = f"{item}.volumeMounts[{j}]"
            errors += [
                forbidden(f"{field}.{key}", _EPHEMERAL) for key in ("subPath", "subPathExpr") if mount.get(key)
            ]


def _set_in_vain(container: Object) -> list[str]:
    """Fields that an ephemeral container cannot have; an empty list or empty resources are as good as none."""
    lists = [key for key in _NO_LISTS if container.get(key)]
    return lists + [key for key in _NO_STRUCTS if container.get(key) is not None]


def validate_image_text(container: Object, path: str, errors: Errors) -> None:
    """Templates may hold odd placeholders; a real pod's image has no space around it."""
    image = container.get("image") or ""
    if image != image.strip():
        errors.append(invalid(f"{path}.image", image, "must not have leading or trailing whitespace"))


def _validate_any(container: Object, path: str, scope: Scope, errors: Errors) -> None:
    """What holds for every container, in upstream's order."""
    _validate_identity(container, path, errors)
    if ports := container.get("ports"):
        validate_ports(ports, f"{path}.ports", errors)
    if env := container.get("env"):
        validate_env(env, f"{path}.env", errors)
    if sources := container.get("envFrom"):
        validate_env_from(sources, f"{path}.envFrom", errors)
    if container.get("volumeMounts"):
        validate_mounts(container, f"{path}.volumeMounts", scope, errors)
    if container.get("volumeDevices"):
        validate_devices(container, f"{path}.volumeDevices", scope, errors)
    validate_pull_policy(container.get("imagePullPolicy"), f"{path}.imagePullPolicy", errors)
    validate_container_requirements(container.get("resources"), f"{path}.resources", scope.claims, errors)
    if policies := container.get("resizePolicy"):
        validate_resize_policy(policies, f"{path}.resizePolicy", scope.restart_policy, errors)
    if context := container.get("securityContext"):
        validate_container_security(context, f"{path}.securityContext", errors, host_users=scope.host_users)


def _validate_identity(container: Object, path: str, errors: Errors) -> None:
    name = container.get("name")
    if not name:
        errors.append(required(f"{path}.name"))
    elif complaints := names.dns1123_label(name):
        errors += [invalid(f"{path}.name", name, text) for text in complaints]
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy")
    if not policy:
        errors.append(required(f"{path}.terminationMessagePolicy"))
    elif policy not in _MESSAGE_POLICIES:
        errors.append(not_supported(f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES))


def validate_pull_policy(policy: str | None, path: str, errors: Errors) -> None:
    """When an image is pulled."""
    if not policy:
        errors.append(required(path))
    elif policy not in PULL_POLICIES:
        errors.append(not_supported(path, policy, PULL_POLICIES))
