"""The checks of a standard, and what they find in a pod.

Checks changed with Kubernetes' versions; a standard pinned to a version is held to the checks of that time.
Findings come in a fixed order: baseline before restricted, each sorted by the check's name.
"""

import functools
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from flexlet.core.podsecurity import baseline, restricted
from flexlet.core.podsecurity.findings import Object, Violation
from flexlet.core.podsecurity.policy import PRIVILEGED, RESTRICTED, Standard

CheckPod = Callable[[Object, Object], Violation | None]


class Check(Struct, frozen=True):
    """One check: since which minor version it runs in which form, and which baseline check it replaces."""

    name: str
    forms: tuple[tuple[int, CheckPod], ...]
    replaces: str = ""

    def form_at(self, minor: int) -> CheckPod | None:
        """The form of that version, None before the check existed."""
        return next((form for since, form in reversed(self.forms) if since <= minor), None)


LATEST: Final = 36

BASELINE_CHECKS: Final = (
    Check("appArmorProfile", ((0, baseline.apparmor),)),
    Check("capabilities_baseline", ((0, baseline.capabilities),)),
    Check("hostNamespaces", ((0, baseline.host_namespaces),)),
    Check("hostPathVolumes", ((0, baseline.host_paths),)),
    Check("hostPorts", ((0, baseline.host_ports),)),
    Check("hostProbesAndHostLifecycle", ((34, baseline.probe_hosts),)),
    Check("privileged", ((0, baseline.privileged),)),
    Check("procMount", ((0, baseline.proc_mount), (35, baseline.proc_mount_1_35))),
    Check(
        "seLinuxOptions",
        ((0, baseline.selinux), (31, functools.partial(baseline.selinux, types=baseline.SELINUX_TYPES_1_31))),
    ),
    Check("seccompProfile_baseline", ((19, baseline.seccomp),)),
    Check(
        "sysctls",
        (
            (0, baseline.sysctls),
            (27, functools.partial(baseline.sysctls, allowed=baseline.SYSCTLS_1_27)),
            (29, functools.partial(baseline.sysctls, allowed=baseline.SYSCTLS_1_29)),
            (32, functools.partial(baseline.sysctls, allowed=baseline.SYSCTLS_1_32)),
        ),
    ),
    Check("windowsHostProcess", ((0, baseline.windows_host_process),)),
)

RESTRICTED_CHECKS: Final = (
    Check(
        "allowPrivilegeEscalation",
        ((8, restricted.privilege_escalation), (25, restricted.privilege_escalation_1_25)),
    ),
    Check(
        "capabilities_restricted",
        ((22, restricted.capabilities), (25, restricted.capabilities_1_25)),
        replaces="capabilities_baseline",
    ),
    Check("procMount_restricted", ((35, baseline.proc_mount),), replaces="procMount"),
    Check("restrictedVolumes", ((0, restricted.volumes),), replaces="hostPathVolumes"),
    Check("runAsNonRoot", ((0, restricted.run_as_non_root), (35, restricted.run_as_non_root_1_35))),
    Check("runAsUser", ((23, restricted.run_as_user), (35, restricted.run_as_user_1_35))),
    Check(
        "seccompProfile_restricted",
        ((19, restricted.seccomp), (25, restricted.seccomp_1_25)),
        replaces="seccompProfile_baseline",
    ),
)


@functools.lru_cache(maxsize=256)
def checks_of(standard: Standard) -> tuple[CheckPod, ...]:
    """The checks a standard consists of, in the order of their findings."""
    if standard.level == PRIVILEGED:
        return ()
    minor = LATEST if standard.minor is None else min(standard.minor, LATEST)
    if standard.level != RESTRICTED:
        return tuple(form for check in BASELINE_CHECKS if (form := check.form_at(minor)))
    extra = [check for check in RESTRICTED_CHECKS if check.form_at(minor)]
    replaced = {check.replaces for check in extra}
    chosen = [*(check for check in BASELINE_CHECKS if check.name not in replaced), *extra]
    return tuple(form for check in chosen if (form := check.form_at(minor)))


def violations(standard: Standard, metadata: Object, spec: Object) -> list[Violation]:
    """Everything in which the pod breaks the standard."""
    return [found for check in checks_of(standard) if (found := check(metadata, spec))]


def in_words(found: list[Violation]) -> str:
    """All findings with their details."""
    return ", ".join(map(str, found))
