"""What Windows pods bring along: their own options, and the Linux options they may not have.

flexlet runs no Windows nodes; a pod for one may still be stored, and the server must say the same about it.
"""

import re
from typing import Final

from flexlet.api import names
from flexlet.api.fielderrors import forbidden, invalid
from flexlet.apiserver.contract.kind import Object
from flexlet.apiserver.kinds.pod.containerlists import all_containers, containers_with_paths
from flexlet.apiserver.kinds.pod.scope import Errors

MAX_GMSA_KIB: Final = 64
MAX_DOMAIN: Final = 256
MAX_USER: Final = 104
_has_control: Final = re.compile(r"[\x00-\x1f\x7f]").search
_is_netbios: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_is_dns: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*").fullmatch
_has_forbidden: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search

_POD_CONTEXT: Final = (
    *("fsGroup", "fsGroupChangePolicy", "sysctls", "runAsUser", "runAsGroup", "supplementalGroups"),
    *("supplementalGroupsPolicy", "seLinuxChangePolicy"),
)
_CONTAINER_CONTEXT: Final = (
    *(
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "capabilities",
        "readOnlyRootFilesystem",
        "privileged",
    ),
    *("allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"),
)
_LINUX_ONLY: Final = "cannot be set for a windows pod"
_WINDOWS_ONLY: Final = "windows options cannot be set for a linux pod"


def validate_linux(spec: Object, path: str, errors: Errors) -> None:
    """A pod that says it is for Linux has no Windows options."""
    if (spec.get("securityContext") or {}).get("windowsOptions") is not None:
        errors.append(forbidden(f"{path}.securityContext.windowsOptions", _WINDOWS_ONLY))
    for container, field in containers_with_paths(spec, path):
        if (container.get("securityContext") or {}).get("windowsOptions") is not None:
            errors.append(forbidden(f"{field}.securityContext.windowsOptions", _WINDOWS_ONLY))


def validate_windows(spec: Object, path: str, errors: Errors) -> None:
    """A pod that says it is for Windows has no Linux options."""
    context, field = spec.get("securityContext") or {}, f"{path}.securityContext"
    _forbid(context, ("appArmorProfile", "seLinuxOptions"), field, errors)
    if spec.get("hostUsers") is not None:
        errors.append(forbidden(f"{path}.hostUsers", _LINUX_ONLY))
    errors += [forbidden(f"{path}.{key}", _LINUX_ONLY) for key in ("hostPID", "hostIPC") if spec.get(key)]
    _forbid(context, ("seccompProfile", *_POD_CONTEXT[:3]), field, errors)
    if spec.get("shareProcessNamespace") is not None:
        errors.append(forbidden(f"{path}.shareProcessNamespace", _LINUX_ONLY))
    _forbid(context, _POD_CONTEXT[3:], field, errors)
    for container, item in containers_with_paths(spec, path):
        _forbid(container.get("securityContext") or {}, _CONTAINER_CONTEXT, f"{item}.securityContext", errors)


def _forbid(context: Object, keys: tuple[str, ...], path: str, errors: Errors) -> None:
    errors += [forbidden(f"{path}.{key}", _LINUX_ONLY) for key in keys if context.get(key) is not None]


def validate_host_process(spec: Object, path: str, errors: Errors) -> None:
    """Host process containers: all of a pod's or none, and only on the host network."""
    whole = _host_process(spec)
    if whole is None and all(_host_process(c) is None for c in all_containers(spec)):
        return
    total = hosted = 0
    for container, field in containers_with_paths(spec, path):
        own = _host_process(container)
        total += 1
        hosted += bool(whole if own is None else own)
        if whole is not None and own is not None and whole != own:
            text = f"pod hostProcess value must be identical if both are specified, was {str(whole).lower()}"
            errors.append(invalid(f"{field}.securityContext.windowsOptions.hostProcess", own, text))
    if not hosted:
        return
    if hosted != total:
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(invalid(path, "", text))
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(invalid(f"{path}.hostNetwork", False, text))


def _host_process(part: Object) -> bool | None:
    context = part.get("securityContext")
    options = context.get("windowsOptions") if context else None
    return options.get("hostProcess") if options else None


def validate_windows_options(options: Object | None, path: str, errors: Errors) -> None:
    """Credentials and the user of a Windows container."""
    if options is None:
        return
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        errors += [invalid(f"{path}.gmsaCredentialSpecName", name, text) for text in names.dns1123_subdomain(name)]
    if (content := options.get("gmsaCredentialSpec")) is not None:
        if not content:
            text = "gmsaCredentialSpec cannot be an empty string"
            errors.append(invalid(f"{path}.gmsaCredentialSpec", content, text))
        elif len(content.encode()) > MAX_GMSA_KIB * 1024:
            text = f"gmsaCredentialSpec size must be under {MAX_GMSA_KIB} KiB"
            errors.append(invalid(f"{path}.gmsaCredentialSpec", content, text))
    if (user := options.get("runAsUserName")) is not None:
        errors += [
            invalid(f"{path}.runAsUserName", user, f"runAsUserName{text}") for text in _user_complaints(user)
        ]


def _user_complaints(text: str) -> list[str]:
    if not text:
        return [" cannot be an empty string"]
    if _has_control(text):
        return [" cannot contain control characters"]
    if text.count("\\") > 1:
        return [" cannot contain more than one backslash"]
    domain, backslash, user = text.rpartition("\\")
    complaints = []
    if len(domain.encode()) >= MAX_DOMAIN:
        complaints.append(f"'s Domain length must be under {MAX_DOMAIN} characters")
    if backslash and not (_is_netbios(domain) or _is_dns(domain)):
        complaints.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        complaints.append("'s User cannot be empty")
    elif len(user.encode()) > MAX_USER:
        complaints.append(f"'s User length must not be longer than {MAX_USER} characters")
    if user and not user.strip(". "):
        complaints.append("'s User cannot contain only periods or spaces")
    if _has_forbidden(user):
        complaints.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return complaints
