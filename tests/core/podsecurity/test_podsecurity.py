"""The Pod Security Standards: labels, checks, versions."""

from typing import Any

import pytest

from flexlet.api.fielderrors import FieldError
from flexlet.core.podsecurity.evaluate import in_words, violations
from flexlet.core.podsecurity.policy import (
    BASELINE,
    PRIVILEGED,
    RESTRICTED,
    UNRESTRICTED,
    Policy,
    Standard,
    label_errors,
    policy_of,
)

LATEST_BASELINE = Standard(BASELINE)
LATEST_RESTRICTED = Standard(RESTRICTED)

SAFE = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def found(standard: Standard, *contexts: Any, annotations: Any = None, **spec: Any) -> str:
    """What is said to a pod whose containers a, b, ... have these security contexts."""
    containers = [
        {"name": name, "securityContext": context} for name, context in zip("abc", contexts, strict=False)
    ]
    metadata = {"annotations": annotations or {}}
    return in_words(violations(standard, metadata, {"containers": containers, **spec}))


@pytest.mark.parametrize(
    ("labels", "policy"),
    [
        ({}, UNRESTRICTED),
        ({"other": "label"}, UNRESTRICTED),
        ({"enforce": "baseline"}, Policy(Standard(BASELINE), Standard(BASELINE))),
        (
            {"enforce": "restricted", "enforce-version": "v1.24"},
            Policy(Standard(RESTRICTED, 24), Standard(RESTRICTED, 24)),
        ),
        (
            {"enforce": "restricted", "enforce-version": "v1.24", "warn-version": "v1.30"},
            Policy(Standard(RESTRICTED, 24), Standard(RESTRICTED, 30)),
        ),
        ({"enforce": "restricted", "warn": "privileged"}, Policy(Standard(RESTRICTED), Standard())),
        ({"warn": "restricted"}, Policy(Standard(), Standard(RESTRICTED))),
        ({"enforce": "odd", "warn": "odd"}, Policy(Standard(RESTRICTED), Standard())),
        ({"enforce": "odd"}, Policy(Standard(RESTRICTED), Standard())),
        ({"enforce": "privileged", "enforce-version": "odd"}, UNRESTRICTED),
        ({"audit": "restricted"}, UNRESTRICTED),
    ],
)
def test_labels_make_a_policy(labels: dict[str, str], policy: Policy) -> None:
    """Warning follows enforcement; what cannot be read is strict where it counts."""
    assert policy_of({f"pod-security.kubernetes.io/{key}": value for key, value in labels.items()}) == policy


def test_wrong_labels_are_named() -> None:
    prefix = "pod-security.kubernetes.io/"
    labels = {f"{prefix}enforce": "x", f"{prefix}warn-version": "1.30", f"{prefix}audit": "baseline"}
    assert label_errors(labels) == [
        FieldError(
            "metadata.labels[pod-security.kubernetes.io/enforce]",
            "FieldValueInvalid",
            'Invalid value: "x": must be one of privileged, baseline, restricted',
        ),
        FieldError(
            "metadata.labels[pod-security.kubernetes.io/warn-version]",
            "FieldValueInvalid",
            'Invalid value: "1.30": must be "latest" or "v1.x"',
        ),
    ]


def test_a_standard_prints_level_and_version() -> None:
    assert [str(Standard(PRIVILEGED)), str(Standard(BASELINE, 24))] == ["privileged:latest", "baseline:v1.24"]


@pytest.mark.parametrize(
    ("contexts", "spec", "text"),
    [
        ([{}], {}, ""),
        ([], {"hostNetwork": True, "hostPID": True}, "host namespaces (hostNetwork=true, hostPID=true)"),
        (
            [{"privileged": True}, {"privileged": True}],
            {},
            'privileged (containers "a", "b" must not set securityContext.privileged=true)',
        ),
        (
            [{"capabilities": {"add": ["SYS_ADMIN", "CHOWN"]}}],
            {},
            (
                'non-default capabilities (container "a" must not include "SYS_ADMIN" in '
                "securityContext.capabilities.add)"
            ),
        ),
        ([], {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, 'hostPath volumes (volume "v")'),
        (
            [],
            {"containers": [{"name": "a", "ports": [{"hostPort": 80}, {"hostPort": 8080}, {"containerPort": 1}]}]},
            'hostPort (container "a" uses hostPorts 80, 8080)',
        ),
        (
            [],
            {
                "containers": [
                    {
                        "name": "a",
                        "livenessProbe": {"httpGet": {"host": "h1"}},
                        "lifecycle": {"preStop": {"tcpSocket": {"host": "h2"}}},
                    },
                    {"name": "b", "readinessProbe": {"httpGet": {"path": "/"}}},
                ]
            },
            'probe or lifecycle host (container "a" uses probe or lifecycle hosts "h1", "h2")',
        ),
        ([{"procMount": "Default"}], {}, ""),
        (
            [{"procMount": "Unmasked"}],
            {},
            'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
        ),
        ([{"procMount": "Unmasked"}], {"hostUsers": False}, ""),
        ([{"seLinuxOptions": {"type": "container_engine_t"}}], {}, ""),
        (
            [{"seLinuxOptions": {"type": "odd", "role": "r"}}],
            {"securityContext": {"seLinuxOptions": {"user": "u"}}},
            (
                'seLinuxOptions (pod and container "a" set forbidden securityContext.seLinuxOptions: '
                'type "odd"; user may not be set; role may not be set)'
            ),
        ),
        (
            [{"seccompProfile": {"type": "Unconfined"}}],
            {},
            'seccompProfile (container "a" must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        (
            [{"appArmorProfile": {"type": "Unconfined"}}],
            {"securityContext": {"appArmorProfile": {"type": "Localhost"}}},
            'forbidden AppArmor profile (container "a" must not set AppArmor profile type to "Unconfined")',
        ),
        (
            [],
            {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}, {"name": "kernel.msgmax"}]}},
            "forbidden sysctls (kernel.msgmax)",
        ),
        (
            [{"windowsOptions": {"hostProcess": True}}],
            {"securityContext": {"windowsOptions": {"hostProcess": True}}},
            'hostProcess (pod and container "a" must not set securityContext.windowsOptions.hostProcess=true)',
        ),
    ],
)
def test_baseline(contexts: Any, spec: Any, text: str) -> None:
    assert found(LATEST_BASELINE, *contexts, **spec) == text


def test_apparmor_annotations_count_too() -> None:
    prefix = "container.apparmor.security.beta.kubernetes.io/"
    annotations = {f"{prefix}a": "unconfined", f"{prefix}b": "localhost/x", "other": "unconfined"}
    assert found(LATEST_BASELINE, {}, annotations=annotations) == (
        f'forbidden AppArmor profile (annotation must not set AppArmor profile type to "{prefix}a="unconfined"")'
    )


@pytest.mark.parametrize(
    ("contexts", "spec", "text"),
    [
        ([SAFE], {}, ""),
        (
            [{**SAFE, "allowPrivilegeEscalation": True}],
            {},
            (
                'allowPrivilegeEscalation != false (container "a" must set '
                "securityContext.allowPrivilegeEscalation=false)"
            ),
        ),
        (
            [{**SAFE, "capabilities": {"drop": ["KILL"], "add": ["CHOWN", "NET_BIND_SERVICE"]}}],
            {},
            (
                'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; '
                'container "a" must not include "CHOWN" in securityContext.capabilities.add)'
            ),
        ),
        (
            [SAFE],
            {"volumes": [{"name": "v", "nfs": {}}, {"name": "w", "hostPath": {}}, {"name": "x", "emptyDir": {}}]},
            'restricted volume types (volumes "v", "w" use restricted volume types "hostPath", "nfs")',
        ),
        (
            [{**SAFE, "runAsNonRoot": None}],
            {},
            'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true)',
        ),
        ([{**SAFE, "runAsNonRoot": None}], {"securityContext": {"runAsNonRoot": True}}, ""),
        ([{**SAFE, "runAsNonRoot": None}], {"hostUsers": False}, ""),
        (
            [{**SAFE, "runAsNonRoot": False}],
            {"securityContext": {"runAsNonRoot": True}},
            'runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)',
        ),
        (
            [{**SAFE, "runAsUser": 0}, SAFE],
            {"securityContext": {"runAsUser": 0}},
            'runAsUser=0 (pod and container "a" must not set runAsUser=0)',
        ),
        ([{**SAFE, "runAsUser": 0}], {"hostUsers": False}, ""),
        (
            [{**SAFE, "seccompProfile": None}],
            {},
            (
                'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to '
                '"RuntimeDefault" or "Localhost")'
            ),
        ),
        (
            [{**SAFE, "seccompProfile": {"type": "Unconfined"}}],
            {},
            'seccompProfile (container "a" must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        (
            [{**SAFE, "procMount": "Unmasked"}],
            {"hostUsers": False},
            'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
        ),
        ([{"runAsNonRoot": True}], {"os": {"name": "windows"}}, ""),
    ],
)
def test_restricted(contexts: Any, spec: Any, text: str) -> None:
    """Restricted replaces the baseline checks that it sharpens, so nothing is said twice."""
    assert found(LATEST_RESTRICTED, *contexts, **spec) == text


@pytest.mark.parametrize(
    ("standard", "context", "spec", "is_clean"),
    [
        (Standard(BASELINE, 26), {}, {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}}, False),
        (Standard(BASELINE, 32), {}, {"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}}, True),
        (Standard(BASELINE, 30), {"seLinuxOptions": {"type": "container_engine_t"}}, {}, False),
        (Standard(BASELINE, 34), {"procMount": "Unmasked"}, {"hostUsers": False}, False),
        (Standard(BASELINE, 99), {"procMount": "Unmasked"}, {"hostUsers": False}, True),
        (Standard(RESTRICTED, 22), {**SAFE, "runAsUser": 0}, {}, True),
        (Standard(RESTRICTED, 21), {**SAFE, "capabilities": {}}, {}, True),
        (Standard(RESTRICTED, 18), {**SAFE, "seccompProfile": None}, {}, True),
        (Standard(PRIVILEGED), {"privileged": True}, {}, True),
    ],
)
def test_a_pinned_version_has_the_checks_of_its_time(
    standard: Standard, context: Any, spec: Any, is_clean: bool
) -> None:
    assert (found(standard, context, **spec) == "") is is_clean
