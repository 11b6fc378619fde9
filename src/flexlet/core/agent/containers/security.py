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
APPARMOR_ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"
_NOTED_LOCALHOST: Final = "localhost/"
_PROFILES: Final = frozenset({"RuntimeDefault", "Unconfined", "Localhost"})
_LARGEST_ID: Final = 2**31 - 1


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


def everybody(pod: NodePod) -> tuple[NodeContainer, ...]:
    """Containers of every kind."""
    spec = pod.spec
    return (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)


def of_sandbox(pod: NodePod) -> SandboxSecurity:
    """The sandbox gets the pod's context, and is privileged if any container is.

    A group without a user is left out: containerd refuses such a sandbox, and its own process needs no group.
    """
    context = pod.spec.security_context
    return SandboxSecurity(
        namespaces=namespaces(pod),
        selinux=_selinux(context.se_linux_options),
        run_as_user=context.run_as_user,
        run_as_group=context.run_as_group if context.run_as_user is not None else None,
        supplemental_groups=_groups(context),
        supplemental_groups_policy=context.supplemental_groups_policy or "Merge",
        privileged=any(each.security_context.privileged for each in everybody(pod)),
    )


def of_container(
    pod: NodePod, container: NodeContainer, setup: NodeSetup, image: ImageState, target_id: str = ""
) -> ContainerSecurity | Problem:
    """A container's context; a promise not to run as root that cannot be kept is a problem."""
    own, shared = container.security_context, pod.spec.security_context
    if (problem := _root(pod, container, image)) is not None:
        return problem
    seccomp = _seccomp(own.seccomp_profile or shared.seccomp_profile, setup)
    apparmor = _apparmor(pod, container)
    if isinstance(seccomp, Problem):
        return seccomp
    if isinstance(apparmor, Problem):
        return apparmor
    user, username = user_of(pod, container), ""
    if user is None:
        user, username = _image_user(image)
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
        seccomp=seccomp,
        apparmor=apparmor,
    )


def user_of(pod: NodePod, container: NodeContainer) -> int | None:
    """Whom the spec lets the container run as; None leaves it to the image."""
    own = container.security_context.run_as_user
    return own if own is not None else pod.spec.security_context.run_as_user


def _image_user(image: ImageState) -> tuple[int | None, str]:
    """The image's number before its name; an image that says neither runs as root."""
    if image.user is not None:
        return image.user, ""
    return (None, image.username) if image.username else (0, "")


def _root(pod: NodePod, container: NodeContainer, image: ImageState) -> Problem | None:
    own, shared = container.security_context, pod.spec.security_context
    promised = own.run_as_non_root if own.run_as_non_root is not None else shared.run_as_non_root
    if not promised:
        return None
    who = f'(pod: "{names.full_name(pod)}", container: {container.name})'
    user = user_of(pod, container)
    if user is not None:
        return Problem(f"container's runAsUser breaks non-root policy {who}") if user == 0 else None
    user, username = _image_user(image)
    if user == 0:
        return Problem(f"container has runAsNonRoot and image will run as root {who}")
    if user is None:
        return Problem(
            f"container has runAsNonRoot and image has non-numeric user ({username}), "
            f"cannot verify user is non-root {who}"
        )
    if not 0 < user <= _LARGEST_ID:
        return Problem(
            f"container has runAsNonRoot and image has an invalid user id ({user}). (Must be 1-({_LARGEST_ID})): "
            f"must be between 0 and {_LARGEST_ID}, inclusive {who}"
        )
    return None


def _groups(context: api.PodSecurityContext) -> tuple[int, ...]:
    own = () if context.fs_group is None else (context.fs_group,)
    return (*own, *context.supplemental_groups)


def _selinux(options: api.SelinuxOptions | None) -> SelinuxOptions | None:
    if options is None:
        return None
    return SelinuxOptions(user=options.user, role=options.role, type=options.type, level=options.level)


def _seccomp(profile: api.Profile | None, setup: NodeSetup) -> SecurityProfile | Problem:
    """The kubelet's default is no confinement, and so is whatever it does not know."""
    kind = "RuntimeDefault" if setup.seccomp_default else "Unconfined"
    if profile is not None:
        kind = profile.type if profile.type in _PROFILES else "Unconfined"
    if profile is None or kind != "Localhost":
        return SecurityProfile(kind)
    if not profile.localhost_profile:
        return Problem("localhostProfile must be set if seccompProfile type is Localhost.")
    return SecurityProfile("Localhost", f"{setup.root}/{_SECCOMP_DIRECTORY}/{profile.localhost_profile}")


def _apparmor(pod: NodePod, container: NodeContainer) -> SecurityProfile | Problem | None:
    profile = apparmor_profile(pod, container)
    if profile is None:
        return None
    if profile.type not in _PROFILES:
        return Problem(f'unknown apparmor profile type: "{profile.type}"')
    return SecurityProfile(profile.type, profile.localhost_profile if profile.type == "Localhost" else "")


def apparmor_profile(pod: NodePod, container: NodeContainer) -> api.Profile | None:
    """The container's own, the old annotation (static pods may have only that), then the pod's."""
    own, shared = container.security_context.app_armor_profile, pod.spec.security_context.app_armor_profile
    if own is not None:
        return own
    return _noted(pod.metadata.annotations.get(APPARMOR_ANNOTATION + container.name, "")) or shared


def _noted(text: str) -> api.Profile | None:
    if text == "runtime/default":
        return api.Profile(type="RuntimeDefault")
    if text == "unconfined":
        return api.Profile(type="Unconfined")
    if text.startswith(_NOTED_LOCALHOST):
        return api.Profile(type="Localhost", localhost_profile=text.removeprefix(_NOTED_LOCALHOST))
    return None
