"""Security contexts on the wire.

Two things must be sent even though they look like nothing: the pid mode, whose zero would share all processes of a
pod, and the seccomp profile, whose absence means whatever the runtime likes.
"""

from collections.abc import Iterable

from flexlet.adapters.cri._gen import cri_pb2 as pb
from flexlet.core.runtime.configs import (
    ContainerSecurity,
    IdMapping,
    Namespaces,
    SandboxSecurity,
    SecurityProfile,
    SelinuxOptions,
)


def of_sandbox(security: SandboxSecurity) -> pb.LinuxSandboxSecurityContext:
    """The context of a sandbox."""
    return pb.LinuxSandboxSecurityContext(
        namespace_options=_namespaces(security.namespaces),
        selinux_options=_selinux(security.selinux),
        run_as_user=_optional(security.run_as_user),
        run_as_group=_optional(security.run_as_group),
        readonly_rootfs=security.readonly_rootfs,
        supplemental_groups=security.supplemental_groups,
        supplemental_groups_policy=security.supplemental_groups_policy,
        privileged=security.privileged,
        seccomp=_profile(security.seccomp),
        apparmor=_profile(security.apparmor),
    )


def of_container(security: ContainerSecurity) -> pb.LinuxContainerSecurityContext:
    """The context of a container."""
    return pb.LinuxContainerSecurityContext(
        capabilities=_capabilities(security),
        privileged=security.privileged,
        namespace_options=_namespaces(security.namespaces),
        selinux_options=_selinux(security.selinux),
        run_as_user=_optional(security.run_as_user),
        run_as_username=security.run_as_username,
        run_as_group=_optional(security.run_as_group),
        readonly_rootfs=security.readonly_rootfs,
        supplemental_groups=security.supplemental_groups,
        supplemental_groups_policy=security.supplemental_groups_policy,
        no_new_privs=security.no_new_privs,
        masked_paths=security.masked_paths,
        readonly_paths=security.readonly_paths,
        seccomp=_profile(security.seccomp),
        apparmor=_profile(security.apparmor),
    )


def id_mappings(mappings: Iterable[IdMapping]) -> list[pb.IDMapping]:
    """Ranges of ids for a user namespace or a mount in it."""
    return [
        pb.IDMapping(host_id=each.host_id, container_id=each.container_id, length=each.length) for each in mappings
    ]


def _namespaces(namespaces: Namespaces) -> pb.NamespaceOption:
    return pb.NamespaceOption(
        network=namespaces.network,
        pid=namespaces.pid,
        ipc=namespaces.ipc,
        target_id=namespaces.target_id,
        userns_options=pb.UserNamespace(
            mode=namespaces.user_mode,
            uids=id_mappings(namespaces.user_ids),
            gids=id_mappings(namespaces.group_ids),
        ),
    )


def _capabilities(security: ContainerSecurity) -> pb.Capability | None:
    if not security.add_capabilities and not security.drop_capabilities:
        return None
    return pb.Capability(add_capabilities=security.add_capabilities, drop_capabilities=security.drop_capabilities)


def _selinux(options: SelinuxOptions | None) -> pb.SELinuxOption | None:
    if options is None:
        return None
    return pb.SELinuxOption(user=options.user, role=options.role, type=options.type, level=options.level)


def _profile(profile: SecurityProfile | None) -> pb.SecurityProfile | None:
    if profile is None:
        return None
    return pb.SecurityProfile(profile_type=profile.type, localhost_ref=profile.localhost_ref)


def _optional(value: int | None) -> pb.Int64Value | None:
    return None if value is None else pb.Int64Value(value=value)
