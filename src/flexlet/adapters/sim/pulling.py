"""Images of the simulated runtime, and addresses for streams that nobody serves."""

# ruff: noqa: ARG002 - a simulation does not need all that the port hands over

from collections.abc import Sequence

from flexlet.adapters.sim import refusals
from flexlet.adapters.sim.part import Part
from flexlet.adapters.sim.trouble import noted
from flexlet.core.runtime.configs import PullCredentials, SandboxConfig
from flexlet.core.runtime.shown import FilesystemUse, Image


class ImagePart(Part):
    """`flexlet.ports.runtime.Images` in memory."""

    @noted
    async def image(self, name: str) -> Image | None:
        """An image by name or id; None if it is not here."""
        return self.containerd.images.find(name)

    @noted
    async def images(self) -> tuple[Image, ...]:
        """All images."""
        return self.containerd.images.all()

    @noted
    async def pull(self, name: str, credentials: PullCredentials | None, sandbox: SandboxConfig | None) -> str:
        """Fetch an image; it takes its time."""
        plan = self.containerd.images.pull(name)
        if plan.seconds:
            await self.containerd.kernel.clock.sleep(plan.seconds)
        if plan.image is None:
            raise refusals.fault(plan.error)
        self.containerd.images.add(plan.image)
        return plan.image.id

    @noted
    async def remove_image(self, name: str) -> None:
        """Remove an image with all its tags."""
        self.containerd.images.remove(name)

    @noted
    async def image_filesystems(self) -> tuple[FilesystemUse, ...]:
        """Where images lie and how much they take."""
        used = sum(image.size for image in self.containerd.images.all())
        return (FilesystemUse(mountpoint="/var/lib/containerd", used_bytes=used),)


class StreamPart(Part):
    """`flexlet.ports.runtime.Streams` in memory."""

    @noted
    async def exec_url(
        self, container_id: str, command: Sequence[str], *, tty: bool, stdin: bool, stdout: bool, stderr: bool
    ) -> str:
        """For a command in a container."""
        return f"http://127.0.0.1:0/exec/{self.container(container_id).id[:8]}"

    @noted
    async def attach_url(self, container_id: str, *, tty: bool, stdin: bool, stdout: bool, stderr: bool) -> str:
        """For the container's own process."""
        return f"http://127.0.0.1:0/attach/{self.container(container_id).id[:8]}"

    @noted
    async def port_forward_url(self, sandbox_id: str, ports: Sequence[int]) -> str:
        """For ports of a pod."""
        return f"http://127.0.0.1:0/portforward/{self.sandbox(sandbox_id).id[:8]}"
