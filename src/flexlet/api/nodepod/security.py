"""Security contexts of pods and containers."""

from flexlet.api.meta import KubeStruct


class SelinuxOptions(KubeStruct, frozen=True, kw_only=True):
    """An SELinux label."""

    user: str = ""
    role: str = ""
    type: str = ""
    level: str = ""


class Profile(KubeStruct, frozen=True, kw_only=True):
    """A seccomp or AppArmor profile."""

    type: str = ""
    localhost_profile: str = ""


class Capabilities(KubeStruct, frozen=True, kw_only=True):
    """Linux capabilities on top of the runtime's defaults."""

    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


class SecurityContext(KubeStruct, frozen=True, kw_only=True):
    """Of a container; what is unset comes from the pod's."""

    capabilities: Capabilities | None = None
    privileged: bool | None = None
    se_linux_options: SelinuxOptions | None = None
    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    read_only_root_filesystem: bool | None = None
    allow_privilege_escalation: bool | None = None
    proc_mount: str | None = None
    seccomp_profile: Profile | None = None
    app_armor_profile: Profile | None = None


class Sysctl(KubeStruct, frozen=True, kw_only=True):
    """A kernel parameter of the pod's namespaces."""

    name: str = ""
    value: str = ""


class PodSecurityContext(KubeStruct, frozen=True, kw_only=True):
    """Of the pod as a whole."""

    se_linux_options: SelinuxOptions | None = None
    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    supplemental_groups: tuple[int, ...] = ()
    supplemental_groups_policy: str | None = None
    fs_group: int | None = None
    fs_group_change_policy: str | None = None
    sysctls: tuple[Sysctl, ...] = ()
    seccomp_profile: Profile | None = None
    app_armor_profile: Profile | None = None
