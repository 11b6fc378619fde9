"""Security contexts of pods and containers: ids, sysctls, seccomp and AppArmor profiles, proc mounts."""

import re
from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import INVALID, FieldError, duplicate, invalid, not_supported, required, too_long
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.internalform import compact
from flexlet.apiserver.kinds.pod.paths import validate_descending
from flexlet.apiserver.kinds.pod.scope import Errors
from flexlet.apiserver.kinds.pod.windows import validate_windows_options

MAX_PROFILE_PATH: Final = 4095
MAX_SYSCTL: Final = 253
PROFILE_TYPES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_PATTERN: Final = rf"^({_SEGMENT}[\./])*{_SEGMENT}$"
_is_sysctl: Final = re.compile(rf"({_SEGMENT}[\./])*{_SEGMENT}").fullmatch
_IPC_SYSCTLS: Final = frozenset(
    {
        *("kernel.sem", "kernel.shm", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced"),
        *("kernel.msg", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni"),
    }
)
_GROUP_CHANGES: Final = ("Always", "OnRootMismatch")
_GROUPS: Final = ("Merge", "Strict")
_PROC_MOUNTS: Final = ("Default", "Unmasked")


def validate_pod_security(spec: Object, path: str, errors: Errors) -> None:
    """The security context of a pod; some of its parts sit in the spec itself."""
    context = spec.get("securityContext") or {}
    for key in ("fsGroup", "runAsUser", "runAsGroup"):
        _validate_id(context.get(key), f"{path}.{key}", errors)
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        _validate_id(group, f"{path}.supplementalGroups[{i}]", errors)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{path}.shareProcessNamespace", True, text))
    if sysctls := context.get("sysctls"):
        _validate_sysctls(sysctls, spec, f"{path}.sysctls", errors)
    if context:
        _validate_choices(context, path, errors)


def _validate_choices(context: Object, path: str, errors: Errors) -> None:
    _validate_choice(context.get("fsGroupChangePolicy"), _GROUP_CHANGES, f"{path}.fsGroupChangePolicy", errors)
    _validate_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile", errors)
    validate_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions", errors)
    validate_app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile", errors)
    _validate_choice(context.get("supplementalGroupsPolicy"), _GROUPS, f"{path}.supplementalGroupsPolicy", errors)
    _validate_choice(context.get("seLinuxChangePolicy"), ("Recursive",), f"{path}.seLinuxChangePolicy", errors)


def _validate_choice(value: str | None, choices: tuple[str, ...], path: str, errors: Errors) -> None:
    if value is not None and value not in choices:
        errors.append(not_supported(path, value, choices))


def _validate_id(number: int | None, path: str, errors: Errors) -> None:
    if number is not None:
        errors += [invalid(path, number, text) for text in names.user_id(number)]


def validate_container_security(context: Object, path: str, errors: Errors, *, host_users: bool) -> None:
    """The security context of a container."""
    _validate_id(context.get("runAsUser"), f"{path}.runAsUser", errors)
    _validate_id(context.get("runAsGroup"), f"{path}.runAsGroup", errors)
    if (mount := context.get("procMount")) is not None:
        _validate_choice(mount, _PROC_MOUNTS, f"{path}.procMount", errors)
        if host_users and mount == "Unmasked":
            text = "`hostUsers` must be false to use `Unmasked`"
            errors.append(invalid(f"{path}.procMount", mount, text))
    _validate_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile", errors)
    if context.get("allowPrivilegeEscalation") is False:
        _validate_no_escalation(context, path, errors)
    validate_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions", errors)
    validate_app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile", errors)


def _validate_no_escalation(context: Object, path: str, errors: Errors) -> None:
    rest = "cannot set `allowPrivilegeEscalation` to false and"
    if context.get("privileged"):
        errors.append(_shown(context, path, f"{rest} `privileged` to true"))
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability == "CAP_SYS_ADMIN":
            errors.append(_shown(context, path, f"{rest} `capabilities.Add` CAP_SYS_ADMIN"))


def _shown(context: Object, path: str, text: str) -> FieldError:
    return FieldError(path, INVALID, f"Invalid value: {compact(context, 'SecurityContext')}: {text}")


def _validate_seccomp(profile: Object | None, path: str, errors: Errors) -> None:
    if profile is None:
        return
    kind, file = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        errors.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in PROFILE_TYPES:
        errors.append(not_supported(f"{path}.type", kind, PROFILE_TYPES))
    if kind != "Localhost":
        if file is not None:
            shown = compact(profile, "SeccompProfile")
            text = f"Invalid value: {shown}: can only be set when seccomp type is Localhost"
            errors.append(FieldError(f"{path}.localhostProfile", INVALID, text))
    elif file is None:
        errors.append(required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost"))
    else:
        validate_descending(file, f"{path}.localhostProfile", errors)


def validate_app_armor(profile: Object | None, path: str, errors: Errors) -> None:
    """An AppArmor profile: by type, and for Localhost by name."""
    if profile is None:
        return
    kind, file = profile.get("type") or "", profile.get("localhostProfile")
    if kind == "Localhost":
        _validate_local_profile(file, f"{path}.localhostProfile", errors)
    elif not kind:
        errors.append(required(f"{path}.type", "type is required when appArmorProfile is set"))
    elif kind not in PROFILE_TYPES:
        errors.append(not_supported(f"{path}.type", kind, PROFILE_TYPES))
    elif file is not None:
        text = "can only be set when AppArmor type is Localhost"
        errors.append(invalid(f"{path}.localhostProfile", file, text))


def is_valid_app_armor(profile: Object) -> bool:
    """Whether the profile would be accepted."""
    errors: Errors = []
    validate_app_armor(profile, "", errors)
    return not errors


def _validate_local_profile(file: str | None, path: str, errors: Errors) -> None:
    if file is not None and file != file.strip():
        errors.append(invalid(path, file, "must not be padded with whitespace"))
    elif not file:
        errors.append(required(path, "must be set when AppArmor type is Localhost"))
    if file and len(file.encode()) > MAX_PROFILE_PATH:
        errors.append(too_long(path, MAX_PROFILE_PATH))


def _validate_sysctls(sysctls: list[Object], spec: Object, path: str, errors: Errors) -> None:
    taken: set[str] = set()
    for i, sysctl in enumerate(sysctls):
        name, field = sysctl.get("name") or "", f"{path}[{i}].name"
        if not name:
            errors.append(required(field))
        elif len(name) > MAX_SYSCTL or not _is_sysctl(name):
            text = f"must have at most {MAX_SYSCTL} characters and match regex {_SYSCTL_PATTERN}"
            errors.append(invalid(field, name, text))
        elif name in taken:
            errors.append(duplicate(field, name))
        taken.add(name)
        namespace = _sysctl_namespace(name)
        for flag, owner in (("hostNetwork", "net"), ("hostIPC", "ipc")):
            if spec.get(flag) and namespace == owner:
                errors.append(invalid(field, name, f"may not be specified when '{flag}' is true"))


def _sysctl_namespace(name: str) -> str:
    """The kernel namespace that isolates a sysctl, if any."""
    dotted = _dotted(name).partition("*")[0]
    if dotted.startswith("net."):
        return "net"
    return "ipc" if dotted in _IPC_SYSCTLS or dotted.startswith("fs.mqueue.") else ""


def _dotted(name: str) -> str:
    """Where a slash comes before any dot, slashes separate and dots are part of the names."""
    separator = next((character for character in name if character in "./"), ".")
    return name if separator == "." else name.translate({ord("."): "/", ord("/"): "."})
