"""Security contexts: who says what wins, and what is refused."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.core.agent.builders import SETUP, container, pod

from flexlet.api import decode
from flexlet.api.nodepod.security import PodSecurityContext, SecurityContext
from flexlet.core.agent.containers import security, sysctls
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.agent.record import ImageState
from flexlet.core.runtime.configs import (
    NODE,
    POD,
    TARGET,
    ContainerSecurity,
    Namespaces,
    SandboxSecurity,
    SecurityProfile,
    SelinuxOptions,
)

Json = dict[str, Any]
WHO = '(pod: "p_ns(uid-1)", container: c)'


def of(own: Json, shared: Json | None = None, image: ImageState | None = None, **spec: Any) -> object:
    """The context of the one container of a pod."""
    given = container("c", security_context=decode.from_value(own, SecurityContext))
    whole = pod(given, security_context=decode.from_value(shared or {}, PodSecurityContext), **spec)
    return security.of_container(whole, given, SETUP, image or ImageState())


PLAIN = ContainerSecurity(run_as_user=0, masked_paths=security.MASKED, readonly_paths=security.READONLY)


def test_a_container_that_says_nothing_runs_as_the_image_says_masked_and_unconfined() -> None:
    assert of({}) == PLAIN


@pytest.mark.parametrize(
    ("own", "shared", "changes"),
    [
        ({"runAsUser": 5}, {"runAsUser": 6}, {"run_as_user": 5}),
        ({}, {"runAsUser": 6, "runAsGroup": 7}, {"run_as_user": 6, "run_as_group": 7}),
        ({"runAsGroup": 8}, {"runAsGroup": 7}, {"run_as_group": 8}),
        ({}, {"fsGroup": 3, "supplementalGroups": [4, 5]}, {"supplemental_groups": (3, 4, 5)}),
        ({}, {"supplementalGroupsPolicy": "Strict"}, {"supplemental_groups_policy": "Strict"}),
        ({"privileged": True, "readOnlyRootFilesystem": True}, {}, {"privileged": True, "readonly_rootfs": True}),
        (
            {"capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]}},
            {},
            {"add_capabilities": ("NET_ADMIN",), "drop_capabilities": ("ALL",)},
        ),
        ({"allowPrivilegeEscalation": False}, {}, {"no_new_privs": True}),
        ({"allowPrivilegeEscalation": True}, {}, {}),
        ({"procMount": "Unmasked"}, {}, {"masked_paths": (), "readonly_paths": ()}),
        ({"procMount": "Default"}, {}, {}),
        ({"seLinuxOptions": {"level": "s0"}}, {"seLinuxOptions": {"user": "u"}}, {"selinux": ("", "", "", "s0")}),
        ({}, {"seLinuxOptions": {"user": "u", "role": "r", "type": "t"}}, {"selinux": ("u", "r", "t", "")}),
        ({}, {"seccompProfile": {"type": "RuntimeDefault"}}, {"seccomp": SecurityProfile("RuntimeDefault")}),
        (
            {"seccompProfile": {"type": "Unconfined"}},
            {"seccompProfile": {"type": "RuntimeDefault"}},
            {"seccomp": SecurityProfile("Unconfined")},
        ),
        (
            {"seccompProfile": {"type": "Localhost", "localhostProfile": "a/b.json"}},
            {},
            {"seccomp": SecurityProfile("Localhost", "/var/lib/kubelet/seccomp/a/b.json")},
        ),
        (
            {"appArmorProfile": {"type": "Localhost", "localhostProfile": "mine"}},
            {"appArmorProfile": {"type": "Unconfined"}},
            {"apparmor": SecurityProfile("Localhost", "mine")},
        ),
        ({}, {"appArmorProfile": {"type": "RuntimeDefault"}}, {"apparmor": SecurityProfile("RuntimeDefault")}),
    ],
)
def test_the_containers_word_goes_before_the_pods(own: Json, shared: Json, changes: Json) -> None:
    if "selinux" in changes:
        user, role, kind, level = changes["selinux"]
        changes = {"selinux": SelinuxOptions(user=user, role=role, type=kind, level=level)}
    assert of(own, shared) == replace(PLAIN, **changes)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (
            {"seccompProfile": {"type": "Localhost"}},
            "localhostProfile must be set if seccompProfile type is Localhost.",
        ),
        ({"appArmorProfile": {"type": "Odd"}}, 'unknown apparmor profile type: "Odd"'),
    ],
)
def test_profiles_that_cannot_be_are_problems(own: Json, expected: str) -> None:
    assert of(own) == Problem(expected)


@pytest.mark.parametrize(
    ("noted", "expected"),
    [
        ("runtime/default", SecurityProfile("RuntimeDefault")),
        ("unconfined", SecurityProfile("Unconfined")),
        ("localhost/x", SecurityProfile("Localhost", "x")),
        ("nonsense", SecurityProfile("RuntimeDefault")),
    ],
)
def test_an_old_annotation_counts_before_the_pods_field(noted: str, expected: SecurityProfile) -> None:
    """One that cannot be read counts for nothing."""
    shared = decode.from_value({"appArmorProfile": {"type": "RuntimeDefault"}}, PodSecurityContext)
    given = container("c")
    whole = pod(given, security_context=shared, meta={"annotations": {f"{security.APPARMOR_ANNOTATION}c": noted}})
    found = security.of_container(whole, given, SETUP, ImageState())
    assert found == replace(PLAIN, apparmor=expected)


NON_ROOT: Json = {"runAsNonRoot": True}
NAMED = "cannot verify user is non-root"


@pytest.mark.parametrize(
    ("own", "image", "expected"),
    [
        ({"runAsUser": 0}, ImageState(user=5), f"container's runAsUser breaks non-root policy {WHO}"),
        ({}, ImageState(), f"container has runAsNonRoot and image will run as root {WHO}"),
        ({}, ImageState(user=0), f"container has runAsNonRoot and image will run as root {WHO}"),
        (
            {},
            ImageState(username="www"),
            f"container has runAsNonRoot and image has non-numeric user (www), {NAMED} {WHO}",
        ),
        (
            {},
            ImageState(user=2**31),
            (
                "container has runAsNonRoot and image has an invalid user id (2147483648). "
                f"(Must be 1-(2147483647)): must be between 0 and 2147483647, inclusive {WHO}"
            ),
        ),
    ],
)
def test_a_promise_not_to_be_root_that_cannot_be_kept_is_a_problem(
    own: Json, image: ImageState, expected: str
) -> None:
    assert of({**NON_ROOT, **own}, {"runAsNonRoot": False}, image) == Problem(expected)


@pytest.mark.parametrize(
    ("own", "image", "user", "name"),
    [
        ({}, ImageState(user=5, username="five"), 5, ""),
        ({"runAsUser": 7}, ImageState(username="www"), 7, ""),
        ({"runAsNonRoot": False}, ImageState(username="www"), None, "www"),
        ({"runAsNonRoot": False}, ImageState(), 0, ""),
    ],
)
def test_whom_a_container_runs_as(own: Json, image: ImageState, user: int | None, name: str) -> None:
    assert of(own, NON_ROOT, image) == replace(PLAIN, run_as_user=user, run_as_username=name)


@pytest.mark.parametrize(
    ("spec", "target", "expected"),
    [
        ({}, "", Namespaces()),
        ({"host_network": True, "host_ipc": True}, "", Namespaces(network=NODE, ipc=NODE)),
        ({"host_pid": True}, "x", Namespaces(pid=NODE)),
        ({"share_process_namespace": True}, "x", Namespaces(pid=POD)),
        ({}, "x", Namespaces(pid=TARGET, target_id="x")),
    ],
)
def test_namespaces(spec: Json, target: str, expected: Namespaces) -> None:
    assert security.namespaces(pod(container("c"), **spec), target) == expected


def test_a_sandbox_is_privileged_if_anybody_in_it_is() -> None:
    boss = container("e", security_context=SecurityContext(privileged=True))
    shared = PodSecurityContext(run_as_user=5, run_as_group=6, fs_group=7, supplemental_groups=(8,))
    whole = pod(container("c"), ephemeral_containers=(boss,), security_context=shared)
    assert security.of_sandbox(whole) == SandboxSecurity(
        run_as_user=5, run_as_group=6, supplemental_groups=(7, 8), privileged=True
    )


def test_a_group_without_a_user_is_not_asked_of_a_sandbox() -> None:
    whole = pod(container("c"), security_context=PodSecurityContext(run_as_group=6))
    assert security.of_sandbox(whole) == SandboxSecurity()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("net.ipv4.conf.eth0/1.rp_filter", "net.ipv4.conf.eth0/1.rp_filter"),
        ("net/ipv4/conf/eth0.1/rp_filter", "net.ipv4.conf.eth0/1.rp_filter"),
        ("kernel/shmmax", "kernel.shmmax"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_kernel_parameters_are_written_with_dots(name: str, expected: str) -> None:
    assert sysctls.dotted(name) == expected


@pytest.mark.parametrize(
    ("name", "unsafe", "spec", "expected"),
    [
        ("net.ipv4.tcp_syncookies", (), {}, ""),
        ("net/ipv4/tcp_syncookies", (), {}, ""),
        ("net.core.somaxconn", (), {}, '"net.core.somaxconn" not allowlisted'),
        ("net.core.somaxconn", ("net.core.*",), {}, ""),
        ("net.core.somaxconn", ("net.core.somaxconn",), {"host_network": True}, "Net"),
        ("kernel.shm_rmid_forced", (), {"host_ipc": True}, "IPC"),
        ("kernel.shmmax", ("kernel.shm*",), {"host_network": True}, ""),
    ],
)
def test_only_allowed_parameters_of_own_namespaces_are_set(
    name: str, unsafe: tuple[str, ...], spec: Json, expected: str
) -> None:
    shared = decode.from_value({"sysctls": [{"name": name, "value": "1"}]}, PodSecurityContext)
    text = f'"{name}" not allowed with host {expected} enabled' if expected in {"Net", "IPC"} else expected
    assert sysctls.refusal(pod(container("c"), security_context=shared, **spec), unsafe) == text
