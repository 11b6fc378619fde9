"""The checks of level ``baseline``: no known way to take over the node."""

from typing import Any, Final

from flexlet.core.podsecurity.findings import (
    Object,
    Violation,
    containers,
    has_user_namespace,
    named,
    names_of,
    plural,
    quoted,
    security_context,
    setters,
    uses,
)

CAPABILITIES: Final = frozenset(
    {
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    }
)
PROFILES: Final = frozenset({"RuntimeDefault", "Localhost"})
SELINUX_TYPES: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
SELINUX_TYPES_1_31: Final = SELINUX_TYPES | {"container_engine_t"}
SYSCTLS: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    }
)
SYSCTLS_1_27: Final = SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
SYSCTLS_1_29: Final = SYSCTLS_1_27 | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
SYSCTLS_1_32: Final = SYSCTLS_1_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
APPARMOR_ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"


def apparmor(metadata: Object, spec: Object) -> Violation | None:
    """The default AppArmor profile may be replaced by a local one, never switched off."""
    bad_pod, bad, values = _profiles(spec, "appArmorProfile")
    annotations = [
        f'{key}="{value}"'
        for key, value in sorted((metadata.get("annotations") or {}).items())
        if key.startswith(APPARMOR_ANNOTATION) and not _apparmor_allowed(value)
    ]
    who = setters(bad_pod, bad)
    if annotations:
        who = " and ".join(filter(None, (who, plural("annotation", annotations))))
    if not who:
        return None
    shown = [*values, *annotations]
    return Violation(
        plural("forbidden AppArmor profile", shown), f"{who} must not set AppArmor profile type to {quoted(shown)}"
    )


def capabilities(_metadata: Object, spec: Object) -> Violation | None:
    """Only capabilities of the default set may be added."""
    bad, wrong = forbidden_capabilities(spec, CAPABILITIES)
    if not bad:
        return None
    text = f"{named(bad)} must not include {quoted(wrong)} in securityContext.capabilities.add"
    return Violation("non-default capabilities", text)


def host_namespaces(_metadata: Object, spec: Object) -> Violation | None:
    """The pod has its own network, processes and IPC."""
    shared = [f"{key}=true" for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    return Violation("host namespaces", ", ".join(shared)) if shared else None


def host_paths(_metadata: Object, spec: Object) -> Violation | None:
    """No part of the node's file system is mounted."""
    bad = names_of([volume for volume in spec.get("volumes") or () if volume.get("hostPath") is not None])
    return Violation("hostPath volumes", f"{plural('volume', bad)} {quoted(bad)}") if bad else None


def host_ports(_metadata: Object, spec: Object) -> Violation | None:
    """No port of the node is taken."""
    bad, ports = [], set()
    for container in containers(spec):
        taken = {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}
        if taken:
            bad.append(container.get("name", ""))
            ports |= taken
    if not bad:
        return None
    return Violation(
        "hostPort", f"{named(bad)} {uses(bad)} {plural('hostPort', ports)} {', '.join(sorted(ports))}"
    )


def probe_hosts(_metadata: Object, spec: Object) -> Violation | None:
    """Probes and hooks reach the pod only, not whatever the node can reach."""
    found = {container.get("name", ""): _probed_hosts(container) for container in containers(spec)}
    bad = sorted(name for name, hosts in found.items() if hosts)
    if not bad:
        return None
    hosts = sorted(set().union(*found.values()))
    what = plural("probe or lifecycle host", hosts)
    return Violation("probe or lifecycle host", f"{named(bad)} {uses(bad)} {what} {quoted(hosts)}")


def privileged(_metadata: Object, spec: Object) -> Violation | None:
    """No container has all the rights of the node's root."""
    bad = names_of([part for part in containers(spec) if security_context(part).get("privileged")])
    return Violation("privileged", f"{named(bad)} must not set securityContext.privileged=true") if bad else None


def proc_mount(_metadata: Object, spec: Object) -> Violation | None:
    """The sensitive parts of /proc stay masked."""
    found = {part.get("name", ""): security_context(part).get("procMount") for part in containers(spec)}
    bad = [name for name, value in found.items() if value not in {None, "Default"}]
    if not bad:
        return None
    values = sorted({str(found[name]) for name in bad})
    return Violation("procMount", f"{named(bad)} must not set securityContext.procMount to {quoted(values)}")


def proc_mount_1_35(metadata: Object, spec: Object) -> Violation | None:
    """The same, except inside a user namespace."""
    return None if has_user_namespace(spec) else proc_mount(metadata, spec)


def selinux(_metadata: Object, spec: Object, types: frozenset[str] = SELINUX_TYPES) -> Violation | None:
    """SELinux keeps treating the pod as a container."""
    pod = _selinux_options(spec)
    parts = {part.get("name", ""): _selinux_options(part) for part in containers(spec)}
    bad = [name for name, options in parts.items() if _selinux_forbidden(options, types)]
    who = setters(_selinux_forbidden(pod, types), bad)
    if not who:
        return None
    every = (pod, *parts.values())
    wrong = sorted({options.get("type", "") for options in every} - types)
    texts = [f"{plural('type', wrong)} {quoted(wrong)}"] if wrong else []
    texts += [f"{key} may not be set" for key in ("user", "role") if any(options.get(key) for options in every)]
    return Violation("seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(texts)}")


def seccomp(_metadata: Object, spec: Object) -> Violation | None:
    """The filter of system calls is not switched off."""
    bad_pod, bad, values = _profiles(spec, "seccompProfile")
    return seccomp_violation(setters(bad_pod, bad), values)


def seccomp_violation(who: str, values: list[str]) -> Violation | None:
    """Wrong profile types, if anybody set some."""
    if not who:
        return None
    return Violation(
        "seccompProfile", f"{who} must not set securityContext.seccompProfile.type to {quoted(values)}"
    )


def sysctls(_metadata: Object, spec: Object, allowed: frozenset[str] = SYSCTLS) -> Violation | None:
    """Only kernel settings that belong to the pod alone are changed."""
    names = [sysctl.get("name", "") for sysctl in security_context(spec).get("sysctls") or ()]
    wrong = [name for name in names if name not in allowed]
    return Violation("forbidden sysctls", ", ".join(wrong)) if wrong else None


def windows_host_process(_metadata: Object, spec: Object) -> Violation | None:
    """No Windows container runs as a process of the node."""
    bad = names_of([part for part in containers(spec) if _is_host_process(part)])
    who = setters(_is_host_process(spec), bad)
    if not who:
        return None
    return Violation("hostProcess", f"{who} must not set securityContext.windowsOptions.hostProcess=true")


def forbidden_capabilities(spec: Object, allowed: frozenset[str]) -> tuple[list[str], list[str]]:
    """The containers that add capabilities beyond `allowed`, and which."""
    bad: list[str] = []
    wrong: set[str] = set()
    for container in containers(spec):
        added = set((security_context(container).get("capabilities") or {}).get("add") or ()) - allowed
        if added:
            bad.append(container.get("name", ""))
            wrong |= added
    return bad, sorted(wrong)


def profile_type(part: Object, key: str) -> str | None:
    """The type of a seccomp or AppArmor profile, None where there is no profile."""
    profile: dict[str, Any] | None = security_context(part).get(key)
    return None if profile is None else str(profile.get("type", ""))


def _profiles(spec: Object, key: str) -> tuple[bool, list[str], list[str]]:
    """Whether the pod's profile is wrong, the containers whose profile is, and the wrong types."""
    pod = profile_type(spec, key)
    parts = [(part.get("name", ""), profile_type(part, key)) for part in containers(spec)]
    bad = [name for name, kind in parts if kind is not None and kind not in PROFILES]
    wrong = {kind for kind in (pod, *(kind for _, kind in parts)) if kind is not None} - PROFILES
    return pod is not None and pod not in PROFILES, bad, sorted(wrong)


def _apparmor_allowed(value: str) -> bool:
    return value in {"", "runtime/default"} or value.startswith("localhost/")


def _probed_hosts(container: Object) -> set[str]:
    lifecycle = container.get("lifecycle") or {}
    handlers = [container.get(key) or {} for key in ("livenessProbe", "readinessProbe", "startupProbe")]
    handlers += [lifecycle.get(key) or {} for key in ("postStart", "preStop")]
    return {
        host
        for handler in handlers
        for key in ("httpGet", "tcpSocket")
        if (host := (handler.get(key) or {}).get("host"))
    }


def _selinux_options(part: Object) -> Object:
    options: Object = security_context(part).get("seLinuxOptions") or {}
    return options


def _selinux_forbidden(options: Object, types: frozenset[str]) -> bool:
    return options.get("type", "") not in types or bool(options.get("user") or options.get("role"))


def _is_host_process(part: Object) -> bool:
    return bool((security_context(part).get("windowsOptions") or {}).get("hostProcess"))
