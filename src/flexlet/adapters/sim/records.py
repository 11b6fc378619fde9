"""The sandboxes and containers of a simulated runtime, as it remembers them and as it shows them."""

import msgspec

from flexlet.adapters.sim.hostfiles import ContainerFiles
from flexlet.adapters.sim.programs import Program
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.runtime.configs import NODE, ContainerConfig, SandboxConfig
from flexlet.core.runtime.shown import CREATED, READY, Container, Image, Sandbox


class SandboxRecord(msgspec.Struct, eq=False, kw_only=True):
    """A sandbox and its pause process."""

    id: str
    config: SandboxConfig
    handler: str = ""
    state: str = READY
    created_at: int
    ip: str = ""
    pid: int = 0
    is_lost: bool = False
    """Whether containerd does not know of its process; see `losing`."""

    @property
    def name(self) -> str:
        """The name that containerd reserves for it."""
        return f"{self.config.name}_{self.config.namespace}_{self.config.uid}_{self.config.attempt}"

    @property
    def cgroup(self) -> str:
        """Where its pause process runs."""
        return cgroup_path(self.config, self.id)

    def shown(self) -> Sandbox:
        """As PodSandboxStatus shows it: without an address once its network is gone."""
        return Sandbox(
            id=self.id,
            name=self.config.name,
            namespace=self.config.namespace,
            uid=self.config.uid,
            attempt=self.config.attempt,
            state=self.state,
            created_at=self.created_at,
            ips=(self.ip,) if self.ip and (self.state == READY or self.is_lost) else (),
            has_network_status=True,
            network=self.config.security.namespaces.network,
            labels=dict(self.config.labels),
            annotations=dict(self.config.annotations),
        )


class ContainerRecord(msgspec.Struct, eq=False, kw_only=True):
    """One run of a container and its first process."""

    id: str
    config: ContainerConfig
    sandbox: SandboxRecord
    image: Image
    state: str = CREATED
    created_at: int
    started_at: int = 0
    finished_at: int = 0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    resources: RuntimeResources
    pid: int = 0
    program: Program | None = None
    files: ContainerFiles
    was_asked_to_stop: bool = False
    is_lost: bool = False
    """Whether containerd does not know of its process; see `losing`."""
    unfinished: dict[str, str] = msgspec.field(default_factory=dict)
    """The last line of each stream, as long as it has no end."""

    @property
    def name(self) -> str:
        """The name that containerd reserves for it."""
        pod = self.sandbox.config
        return f"{self.config.name}_{pod.name}_{pod.namespace}_{pod.uid}_{self.config.attempt}"

    @property
    def cgroup(self) -> str:
        """Where its processes run."""
        return cgroup_path(self.sandbox.config, self.id)

    @property
    def log_path(self) -> str:
        """Where its output goes."""
        return f"{self.sandbox.config.log_directory}/{self.config.log_path}" if self.config.log_path else ""

    def shown(self) -> Container:
        """As ContainerStatus of containerd 1.7 shows it: no user, no image id, the amounts last asked for."""
        return Container(
            id=self.id,
            name=self.config.name,
            sandbox_id=self.sandbox.id,
            attempt=self.config.attempt,
            state=self.state,
            image=self.image.tags[0] if self.image.tags else self.config.image,
            image_ref=self.image.digests[0] if self.image.digests else self.image.id,
            created_at=self.created_at,
            started_at=self.started_at,
            finished_at=self.finished_at,
            exit_code=self.exit_code,
            reason=self.reason,
            message=self.message,
            labels=dict(self.config.labels),
            annotations=dict(self.config.annotations),
            mounts=self.config.mounts,
            log_path=self.log_path,
            resources=self.resources,
        )


def cgroup_path(config: SandboxConfig, identity: str) -> str:
    """A cgroup of its own below the pod's, a scope below a slice; what has no parent has a place, too."""
    parent = config.cgroup_parent.strip("/") or "k8s.io"
    return f"{parent}/cri-containerd-{identity}.scope" if parent.endswith(".slice") else f"{parent}/{identity}"


def uses_host_network(config: SandboxConfig) -> bool:
    """Whether it gets no address of its own."""
    return config.security.namespaces.network == NODE
