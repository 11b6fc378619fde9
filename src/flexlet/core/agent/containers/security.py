"""Security contexts: the container's own words, else the pod's, else the kubelet's defaults.

Must stay true: the masked and read-only paths are always sent, since containerd masks nothing by itself.
"""

from typing import Final

from flexlet.api.nodepod import NodeContainer, NodePod
from flexlet.api.nodepod import security as api
from flexlet.core.agent.containers import names
from flexlet.core.agent.containers.contents import Problem
from flexlet.core.agent.record import ImageState
from flexlet.core.agent.setup import NodeSetup
from flexlet.core.runtime.configs import (
    CONTAINER,
    NODE,
    POD,
    TARGET,
    ContainerSecurity,
    Namespaces,
    SandboxSecurity,
    SecurityProfile,
    SelinuxOptions,
)

MASKED: Final = (
    "/proc/asound",
    "/proc/acpi",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
)
READONLY: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_SECCOMP_DIRECTORY: Final = "seccomp"
_APPARMOR_ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"


def namespaces(pod: NodePod, target_id: str = "") -> Namespaces:
    """Which namespaces the pod shares; `target_id` lets an ephemeral container see another's processes."""
    spec = pod.spec
    pid = NODE if spec.host_pid else POD if spec.share_process_namespace else CONTAINER
    if target_id and pid == CONTAINER:
        pid = TARGET
    return Namespaces(
        network=NODE if spec.host_network else POD,
        pid=pid,
        ipc=NODE if spec.host_ipc else POD,
        target_id=target_id if pid == TARGET else "",
    )


def of_sandbox(pod: NodePod, setup: NodeSetup) -> SandboxSecurity:
    """The sandbox gets the pod's context, and is privileged if any container is."""
    del setup
    context = pod.spec.security_context
    return SandboxSecurity(
        namespaces=namespaces(pod),
        selinux=_selinux(context.se_linux_options),
        run_as_user=context.run_as_user,
        run_as_group=context.run_as_group if context.run_as_user is not None else None,
        supplemental_groups=_groups(context),
        supplemental_groups_policy=context.supplemental_groups_policy or "Merge",
        privileged=any(
            each.security_context.privileged for each in (*pod.spec.init_containers, *pod.spec.containers)
        ),
    )


def of_container(
    pod: NodePod, container: NodeContainer, setup: NodeSetup, image: ImageState, target_id: str = ""
) -> ContainerSecurity | Problem:
    """A container's context; a promise not to run as root that cannot be kept is a problem."""
    own, shared = container.security_context, pod.spec.security_context
    if (problem := _root(pod, container, image)) is not None:
        return problem
    user = own.run_as_user if own.run_as_user is not None else shared.run_as_user
    username = ""
    if user is None:
        user, username = image.user, image.username
    group = own.run_as_group if own.run_as_group is not None else shared.run_as_group
    unmasked = own.proc_mount == "Unmasked"
    return ContainerSecurity(
        namespaces=namespaces(pod, target_id),
        selinux=_selinux(own.se_linux_options or shared.se_linux_options),
        run_as_user=user,
        run_as_username=username,
        run_as_group=group,
        readonly_rootfs=bool(own.read_only_root_filesystem),
        supplemental_groups=_groups(shared),
        supplemental_groups_policy=shared.supplemental_groups_policy or "Merge",
        privileged=bool(own.privileged),
        add_capabilities=own.capabilities.add if own.capabilities is not None else (),
        drop_capabilities=own.capabilities.drop if own.capabilities is not None else (),
        no_new_privs=own.allow_privilege_escalation is False,
        masked_paths=() if unmasked else (*MASKED, *setup.thermal_throttle_paths),
        readonly_paths=() if unmasked else READONLY,
        seccomp=_seccomp(own.seccomp_profile or shared.seccomp_profile, setup),
        apparmor=_apparmor(pod, container),
    )


def _root(pod: NodePod, container: NodeContainer, image: ImageState) -> Problem | None:
    own, shared = container.security_context, pod.spec.security_context
    promised = own.run_as_non_root if own.run_as_non_root is not None else shared.run_as_non_root
    if not promised:
        return None
    who = f'(pod: "{names.full_name(pod)}", container: {container.name})'
    user = own.run_as_user if own.run_as_user is not None else shared.run_as_user
    if user == 0:
        return Problem(f"container's runAsUser breaks non-root policy {who}")
    if user is not None:
        return None
    if image.user == 0 or (image.user is None and not image.username):
        return Problem(f"container has runAsNonRoot and image will run as root {who}")
    if image.user is None:
        return Problem(
            f"container has runAsNonRoot and image has non-numeric user ({image.username}), "
            f"cannot verify user is non-root {who}"
        )
    return None


def _groups(context: api.PodSecurityContext) -> tuple[int, ...]:
    own = () if context.fs_group is None else (context.fs_group,)
    return (*own, *context.supplemental_groups)


def _selinux(options: api.SelinuxOptions | None) -> SelinuxOptions | None:
    if options is None:
        return None
    return SelinuxOptions(user=options.user, role=options.role, type=options.type, level=options.level)


def _seccomp(profile: api.Profile | None, setup: NodeSetup) -> SecurityProfile:
    if profile is None:
        return SecurityProfile("RuntimeDefault" if setup.seccomp_default else "Unconfined")
    if profile.type == "Localhost":
        return SecurityProfile("Localhost", f"{setup.root}/{_SECCOMP_DIRECTORY}/{profile.localhost_profile}")
    return SecurityProfile(profile.type)


def _apparmor(pod: NodePod, container: NodeContainer) -> SecurityProfile | None:
    own, shared = container.security_context.app_armor_profile, pod.spec.security_context.app_armor_profile
    if own is not None:
        return _profile(own)
    noted = pod.metadata.annotations.get(_APPARMOR_ANNOTATION + container.name)
    if noted:
        return _noted(noted)
    return None if shared is None else _profile(shared)


def _profile(profile: api.Profile) -> SecurityProfile:
    return SecurityProfile(profile.type, profile.localhost_profile if profile.type == "Localhost" else "")


def _noted(text: str) -> SecurityProfile:
    if text == "runtime/default":
        return SecurityProfile("RuntimeDefault")
    if text == "unconfined":
        return SecurityProfile("Unconfined")
    return SecurityProfile("Localhost", text.removeprefix("localhost/"))
