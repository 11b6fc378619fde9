"""What the runtime shows when it is asked: sandboxes, containers, images, and how it feels.

Times are nanoseconds since the epoch, 0 for never. A pod's sandboxes and containers come newest first.
"""

from typing import Final

import msgspec

from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.runtime.configs import Mount

CREATED: Final = "CREATED"
RUNNING: Final = "RUNNING"
EXITED: Final = "EXITED"
UNKNOWN: Final = "UNKNOWN"

READY: Final = "READY"
NOT_READY: Final = "NOTREADY"


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """A pod's sandbox."""

    id: str
    name: str = ""
    namespace: str = ""
    uid: str = ""
    attempt: int = 0
    state: str = READY
    created_at: int = 0
    ips: tuple[str, ...] = ()
    """The first is the pod's; empty on the host's network."""
    has_network_status: bool = False
    network: str = "POD"
    """The mode its network namespace was made with."""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class ContainerUser(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a container's first process runs as."""

    uid: int = 0
    gid: int = 0
    supplemental_groups: tuple[int, ...] = ()


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a container; a restart makes another."""

    id: str
    name: str
    sandbox_id: str = ""
    attempt: int = 0
    state: str = CREATED
    image: str = ""
    """As the runtime resolved it, such as docker.io/library/busybox:1."""
    image_ref: str = ""
    image_id: str = ""
    created_at: int = 0
    started_at: int = 0
    finished_at: int = 0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    mounts: tuple[Mount, ...] = ()
    log_path: str = ""
    resources: RuntimeResources | None = None
    """What the runtime was last asked for, not what the kernel has."""
    user: ContainerUser | None = None
    stop_signal: str = ""
    """What ends it gently; empty if the runtime does not tell."""

    @property
    def is_running(self) -> bool:
        """Whether its process runs now."""
        return self.state == RUNNING


class RuntimePod(msgspec.Struct, frozen=True):
    """All that the runtime has of one pod, newest first."""

    uid: str
    sandboxes: tuple[Sandbox, ...] = ()
    containers: tuple[Container, ...] = ()

    def newest(self, name: str) -> Container | None:
        """The newest run of a container."""
        return next((each for each in self.containers if each.name == name), None)

    def runs(self, name: str) -> tuple[Container, ...]:
        """All runs of a container, newest first."""
        return tuple(each for each in self.containers if each.name == name)

    @property
    def running(self) -> tuple[Container, ...]:
        """The containers whose processes run now."""
        return tuple(each for each in self.containers if each.state == RUNNING)


class Glimpse(msgspec.Struct, frozen=True):
    """One sandbox or container in a quick look over everything; enough to see that something changed."""

    uid: str
    id: str
    state: str
    is_sandbox: bool = False


class RuntimeCondition(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one part of the runtime works."""

    type: str
    status: bool
    reason: str = ""
    message: str = ""


class RuntimeHandler(msgspec.Struct, frozen=True, kw_only=True):
    """A way to run pods that a RuntimeClass can ask for; the default one has no name."""

    name: str = ""
    recursive_read_only_mounts: bool = False
    user_namespaces: bool = False


class RuntimeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the runtime feels, and what it can do."""

    conditions: tuple[RuntimeCondition, ...] = ()
    handlers: tuple[RuntimeHandler, ...] = ()
    supplemental_groups_policy: bool | None = None

    def condition(self, name: str) -> RuntimeCondition:
        """A condition by type; an absent one is false."""
        absent = RuntimeCondition(type=name, status=False)
        return next((each for each in self.conditions if each.type == name), absent)


class RuntimeVersion(msgspec.Struct, frozen=True):
    """Who the runtime is: containerd or cri-o, and its release."""

    name: str
    version: str


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """An image the runtime has."""

    id: str
    tags: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    size: int = 0
    uid: int | None = None
    username: str = ""
    pinned: bool = False


class FilesystemUse(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a file system images take."""

    mountpoint: str
    used_bytes: int = 0
    inodes_used: int = 0


class ExecResult(msgspec.Struct, frozen=True):
    """What a command in a container printed, and how it ended."""

    stdout: bytes
    stderr: bytes
    exit_code: int
