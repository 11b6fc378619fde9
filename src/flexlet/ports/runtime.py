"""The container runtime as a node uses it: CRI's verbs in flexlet's values.

Failures are `flexlet.errors.RuntimeFault`; its `code` is gRPC's word (``NotFound``, ``Unimplemented`` ...). An
adapter absorbs what is harmless: stopping or removing what is gone succeeds, and telling a runtime about a
sandbox's resources when it does not know the call does nothing.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.runtime.configs import ContainerConfig, PullCredentials, SandboxConfig
from flexlet.core.runtime.shown import (
    ExecResult,
    FilesystemUse,
    Glimpse,
    Image,
    RuntimePod,
    RuntimeStatus,
    RuntimeVersion,
)


class Observing(Protocol):
    """Looking without touching."""

    async def version(self) -> RuntimeVersion:
        """Who answers; refuses versions that flexlet cannot speak to."""
        ...

    async def status(self) -> RuntimeStatus:
        """How the runtime feels."""
        ...

    async def cgroup_driver(self) -> str | None:
        """``cgroupfs`` or ``systemd``; None if the runtime cannot say."""
        ...

    async def overview(self) -> tuple[Glimpse, ...]:
        """A quick look over every sandbox and container that belongs to a pod."""
        ...

    async def inspect(self, uid: str) -> RuntimePod:
        """Everything about one pod; what vanishes meanwhile is left out."""
        ...

    def events(self) -> AsyncIterator[str]:
        """Uids of pods in which something happened; a hint, may end at any time."""
        ...


class Sandboxes(Protocol):
    """A pod's sandbox."""

    async def run_sandbox(self, config: SandboxConfig, handler: str = "") -> str:
        """Make and start a sandbox; its id."""
        ...

    async def stop_sandbox(self, sandbox_id: str) -> None:
        """Stop it and everything in it; may be repeated."""
        ...

    async def remove_sandbox(self, sandbox_id: str) -> None:
        """Forget it; may be repeated."""
        ...

    async def update_sandbox(
        self, sandbox_id: str, resources: RuntimeResources, overhead: RuntimeResources | None
    ) -> None:
        """Tell the runtime the pod's resources; it writes no cgroup for it."""
        ...

    async def update_pod_cidr(self, cidr: str) -> None:
        """Tell the runtime where the node's pods get their addresses."""
        ...


class Containers(Protocol):
    """The containers in a sandbox."""

    async def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox: SandboxConfig) -> str:
        """Make a container; its id."""
        ...

    async def start_container(self, container_id: str) -> None:
        """Start its process."""
        ...

    async def stop_container(self, container_id: str, timeout_s: int) -> None:
        """Ask it to end, kill it after `timeout_s`; may be repeated."""
        ...

    async def remove_container(self, container_id: str) -> None:
        """Forget it; may be repeated."""
        ...

    async def update_container(self, container_id: str, resources: RuntimeResources) -> None:
        """Change its resources while it runs."""
        ...

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_s: int) -> ExecResult:
        """Run a command in it; RuntimeFault with code DeadlineExceeded when it takes too long."""
        ...

    async def reopen_log(self, container_id: str) -> None:
        """Write the log into a new file of the same name from now on."""
        ...


class Streams(Protocol):
    """Where to connect for interactive streams; each address can be used once."""

    async def exec_url(
        self, container_id: str, command: Sequence[str], *, tty: bool, stdin: bool, stdout: bool, stderr: bool
    ) -> str:
        """For a command in a container."""
        ...

    async def attach_url(self, container_id: str, *, tty: bool, stdin: bool, stdout: bool, stderr: bool) -> str:
        """For the container's own process."""
        ...

    async def port_forward_url(self, sandbox_id: str, ports: Sequence[int]) -> str:
        """For ports of a pod."""
        ...


class Images(Protocol):
    """The images of the node."""

    async def image(self, name: str) -> Image | None:
        """An image by name or id; None if it is not here."""
        ...

    async def images(self) -> tuple[Image, ...]:
        """All images."""
        ...

    async def pull(self, name: str, credentials: PullCredentials | None, sandbox: SandboxConfig | None) -> str:
        """Fetch an image; what to refer to it by."""
        ...

    async def remove_image(self, name: str) -> None:
        """Remove an image with all its tags."""
        ...

    async def image_filesystems(self) -> tuple[FilesystemUse, ...]:
        """Where images lie and how much they take."""
        ...


class Runtime(Observing, Sandboxes, Containers, Streams, Images, Protocol):
    """All of it, as one connection."""
