"""Containers of the simulated runtime."""

# ruff: noqa: ARG002 - a simulation does not need all that the port hands over

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from flexlet.adapters.sim import refusals, shell
from flexlet.adapters.sim.hostfiles import ContainerFiles
from flexlet.adapters.sim.part import Part
from flexlet.adapters.sim.processes import KILL, TERM
from flexlet.adapters.sim.records import ContainerRecord, SandboxRecord
from flexlet.adapters.sim.trouble import noted
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.cgroups.cpu import DEFAULT_PERIOD, UNLIMITED
from flexlet.core.runtime.configs import ContainerConfig, SandboxConfig
from flexlet.core.runtime.shown import CREATED, READY, RUNNING, UNKNOWN, ExecResult, Image

_EXEC: Final = "failed to exec in container"


class ContainerPart(Part):
    """`flexlet.ports.runtime.Containers` in memory."""

    @noted
    async def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox: SandboxConfig) -> str:
        """Make a container in a sandbox that is ready, from an image that is here."""
        place = self.sandbox(sandbox_id, 'failed to find sandbox id "{}"')
        if place.state != READY:
            raise refusals.no_task(sandbox_id)
        image = self.containerd.images.find(config.image_ref or config.image)
        if image is None:
            raise refusals.not_found(f'failed to resolve image "{config.image_ref or config.image}"')
        container = self._record(config, place, image)
        for other in self.containerd.containers.values():
            if other.name == container.name:
                raise refusals.reserved("container", container.name, other.id)
        self.containerd.containers[container.id] = container
        self.containerd.tell(place.config.uid)
        return container.id

    @noted
    async def start_container(self, container_id: str) -> None:
        """Start its process."""
        container = self.container(container_id, 'an error occurred when try to find container "{}"')
        if container.state != CREATED:
            deed = f'failed to set starting state for container "{container_id}"'
            raise refusals.wrong_state(deed, container.state)
        self.containerd.start(container)

    @noted
    async def stop_container(self, container_id: str, timeout_s: int) -> None:
        """Ask it to end, once; kill it when its time is up."""
        container = self.containerd.containers.get(container_id)
        if container is None:
            return
        if timeout_s > 0 and container.state in {RUNNING, UNKNOWN}:
            if not container.was_asked_to_stop:
                container.was_asked_to_stop = True
                self.containerd.kernel.signal(container.pid, TERM)
            await self._until_ended(container, timeout_s)
        self.containerd.kill(container)

    @noted
    async def remove_container(self, container_id: str) -> None:
        """Forget it; one that runs is killed first."""
        container = self.containerd.containers.get(container_id)
        if container is not None:
            self.containerd.kill(container)
            del self.containerd.containers[container_id]
            self.containerd.tell(container.sandbox.config.uid)

    @noted
    async def update_container(self, container_id: str, resources: RuntimeResources) -> None:
        """Change its resources while it runs; no CPU limit arrives as the real adapter sends it."""
        container = self.container(container_id, "failed to find container")
        if resources.cpu_quota or resources.cpu_period:
            resources = replace(
                resources,
                cpu_quota=resources.cpu_quota or UNLIMITED,
                cpu_period=resources.cpu_period or DEFAULT_PERIOD,
            )
        try:
            self.containerd.update(container, resources)
        except OSError as error:
            raise refusals.update_failed(container.cgroup, error) from error

    @noted
    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_s: int) -> ExecResult:
        """Run a command in it, and wait for its end."""
        container = self.container(container_id, _EXEC + ': failed to find container "{}" in store')
        if container.state != RUNNING:
            raise refusals.wrong_state(_EXEC, container.state)
        return await self._exec(container, command, timeout_s)

    @noted
    async def reopen_log(self, container_id: str) -> None:
        """Write the log into a new file of the same name from now on."""
        container = self.container(container_id)
        if container.state != RUNNING:
            raise refusals.fault("container is not running")
        if container.log_path:
            self.containerd.files.write(container.log_path, "", append=True)

    def _record(self, config: ContainerConfig, place: SandboxRecord, image: Image) -> ContainerRecord:
        return ContainerRecord(
            id=self.containerd.new_id(),
            config=config,
            sandbox=place,
            image=image,
            created_at=self.containerd.time_ns(),
            resources=config.resources,
            files=ContainerFiles(self.containerd.files, config.mounts, self._images(config)),
        )

    def _images(self, config: ContainerConfig) -> dict[str, dict[str, str]]:
        """The files of the images that it mounts, by where it does."""
        found = {}
        for mount in config.mounts:
            if mount.image is not None:
                image = self.containerd.images.find(mount.image.ref)
                if image is None:
                    raise refusals.no_volume_image(mount.image.ref)
                content = self.containerd.images.content(image, mount.image.sub_path)
                if not content:
                    raise refusals.no_sub_path(mount.image.sub_path, mount.container_path)
                found[mount.container_path] = content
        return found

    async def _until_ended(self, container: ContainerRecord, seconds: float) -> None:
        kernel = self.containerd.kernel
        deadline = kernel.clock.now() + seconds
        while container.state in {RUNNING, UNKNOWN} and kernel.clock.now() < deadline:
            await kernel.wait(deadline)

    async def _exec(self, container: ContainerRecord, command: Sequence[str], timeout_s: int) -> ExecResult:
        kernel = self.containerd.kernel
        out, err, codes = [""], [""], list[int]()
        try:
            process = self.containerd.exec(container, command, out.append, err.append, codes.append)
        except shell.NotFound as missing:
            raise refusals.exec_failed(self.containerd.new_id(), str(missing)) from missing
        deadline = kernel.clock.now() + timeout_s if timeout_s else None
        try:
            while not codes and (deadline is None or kernel.clock.now() < deadline):
                await kernel.wait(deadline)
        finally:
            kernel.signal(process.pid, KILL)
        if deadline is not None and kernel.clock.now() >= deadline and codes == [128 + KILL]:
            raise refusals.exec_timed_out(timeout_s)
        return ExecResult("".join(out).encode(), "".join(err).encode(), codes[0])
