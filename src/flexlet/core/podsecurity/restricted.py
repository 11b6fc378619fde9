"""The checks that level ``restricted`` adds: run as somebody harmless, with as little as possible."""

from typing import Final

from flexlet.core.podsecurity.baseline import (
    PROFILES,
    forbidden_capabilities,
    profile_type,
    seccomp_violation,
)
from flexlet.core.podsecurity.findings import (
    Object,
    Violation,
    containers,
    has_user_namespace,
    is_windows,
    named,
    names_of,
    plural,
    quoted,
    security_context,
    setters,
    uses,
)

VOLUMES: Final = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)


def privilege_escalation(_metadata: Object, spec: Object) -> Violation | None:
    """No process gains more rights than its parent."""
    bad = names_of(
        [part for part in containers(spec) if security_context(part).get("allowPrivilegeEscalation") is not False]
    )
    if not bad:
        return None
    text = f"{named(bad)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", text)


def privilege_escalation_1_25(metadata: Object, spec: Object) -> Violation | None:
    """The same, where the field exists."""
    return None if is_windows(spec) else privilege_escalation(metadata, spec)


def capabilities(_metadata: Object, spec: Object) -> Violation | None:
    """Every capability is dropped, and at most binding to low ports is added back."""
    keeping = names_of([part for part in containers(spec) if not _drops_all(part)])
    adding, wrong = forbidden_capabilities(spec, frozenset({"NET_BIND_SERVICE"}))
    texts = []
    if keeping:
        texts.append(f'{named(keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        texts.append(f"{named(adding)} must not include {quoted(wrong)} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(texts)) if texts else None


def capabilities_1_25(metadata: Object, spec: Object) -> Violation | None:
    """The same, where the field exists."""
    return None if is_windows(spec) else capabilities(metadata, spec)


def volumes(_metadata: Object, spec: Object) -> Violation | None:
    """Only volumes that come from the API or are made for the pod."""
    bad = [part for part in spec.get("volumes") or () if not any(part.get(kind) is not None for kind in VOLUMES)]
    if not bad:
        return None
    names = names_of(bad)
    kinds = sorted({_volume_type(volume) for volume in bad})
    text = f"{plural('volume', names)} {quoted(names)} {uses(names)} {plural('restricted volume type', kinds)}"
    return Violation("restricted volume types", f"{text} {quoted(kinds)}")


def run_as_non_root(_metadata: Object, spec: Object) -> Violation | None:
    """Every container is started as a user other than root."""
    pod = security_context(spec).get("runAsNonRoot")
    parts = [(part.get("name", ""), security_context(part).get("runAsNonRoot")) for part in containers(spec)]
    who = setters(pod is False, [name for name, value in parts if value is False])
    if who:
        return Violation("runAsNonRoot != true", f"{who} must not set securityContext.runAsNonRoot=false")
    silent = [name for name, value in parts if value is None] if not pod else []
    if not silent:
        return None
    return Violation("runAsNonRoot != true", f"pod or {named(silent)} must set securityContext.runAsNonRoot=true")


def run_as_non_root_1_35(metadata: Object, spec: Object) -> Violation | None:
    """The same, except inside a user namespace."""
    return None if has_user_namespace(spec) else run_as_non_root(metadata, spec)


def run_as_user(_metadata: Object, spec: Object) -> Violation | None:
    """Nobody asks for user 0."""
    bad = names_of([part for part in containers(spec) if security_context(part).get("runAsUser") == 0])
    who = setters(security_context(spec).get("runAsUser") == 0, bad)
    return Violation("runAsUser=0", f"{who} must not set runAsUser=0") if who else None


def run_as_user_1_35(metadata: Object, spec: Object) -> Violation | None:
    """The same, except inside a user namespace."""
    return None if has_user_namespace(spec) else run_as_user(metadata, spec)


def seccomp(_metadata: Object, spec: Object) -> Violation | None:
    """System calls are filtered, and it is said with what."""
    pod = profile_type(spec, "seccompProfile")
    parts = [(part.get("name", ""), profile_type(part, "seccompProfile")) for part in containers(spec)]
    bad = [name for name, kind in parts if kind is not None and kind not in PROFILES]
    who = setters(pod is not None and pod not in PROFILES, bad)
    if who:
        wrong = {kind for kind in (pod, *(kind for _, kind in parts)) if kind is not None} - PROFILES
        return seccomp_violation(who, sorted(wrong))
    silent = [name for name, kind in parts if kind is None] if pod is None else []
    if not silent:
        return None
    text = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {named(silent)} {text}")


def seccomp_1_25(metadata: Object, spec: Object) -> Violation | None:
    """The same, where the field exists."""
    return None if is_windows(spec) else seccomp(metadata, spec)


def _drops_all(container: Object) -> bool:
    return "ALL" in ((security_context(container).get("capabilities") or {}).get("drop") or ())


def _volume_type(volume: Object) -> str:
    return next((key for key, source in volume.items() if key != "name" and source is not None), "unknown")
