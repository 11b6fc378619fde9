"""Containers: their life, and how they look on the wire."""

from collections.abc import Sequence
from typing import Final

from flexlet.adapters.cri import resources as amounts
from flexlet.adapters.cri import security, signals
from flexlet.adapters.cri._gen import cri_pb2 as pb
from flexlet.adapters.cri.calls import NOT_FOUND, Calls, required
from flexlet.adapters.cri.sandboxes import sandbox_config
from flexlet.core.cgroups.containers import RuntimeResources
from flexlet.core.runtime.configs import (
    BIDIRECTIONAL,
    HOST_TO_CONTAINER,
    PRIVATE,
    ContainerConfig,
    IdMapping,
    ImageSource,
    Mount,
    SandboxConfig,
)
from flexlet.core.runtime.shown import CREATED, EXITED, RUNNING, UNKNOWN, Container, ContainerUser, ExecResult
from flexlet.errors import RuntimeFault

_STATES: Final = (CREATED, RUNNING, EXITED, UNKNOWN)
_PROPAGATIONS: Final = (PRIVATE, HOST_TO_CONTAINER, BIDIRECTIONAL)


class ContainerCalls:
    """`flexlet.ports.runtime.Containers` over CRI."""

    _calls: Calls

    async def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox: SandboxConfig) -> str:
        """Make a container in a sandbox."""
        request = pb.CreateContainerRequest(
            pod_sandbox_id=sandbox_id, config=container_config(config), sandbox_config=sandbox_config(sandbox)
        )
        about = f"{sandbox.namespace}/{sandbox.name} {config.name}"
        reply = await self._calls.ask("CreateContainer", request, pb.CreateContainerResponse, about)
        return required(reply.container_id, "CreateContainer", "an id")

    async def start_container(self, container_id: str) -> None:
        """Start its process."""
        request = pb.StartContainerRequest(container_id=container_id)
        await self._calls.ask("StartContainer", request, pb.StartContainerResponse, container_id)

    async def stop_container(self, container_id: str, timeout_s: int) -> None:
        """Ask it to end, kill it after `timeout_s`; one that is gone has ended."""
        request = pb.StopContainerRequest(container_id=container_id, timeout=timeout_s)
        patience_s = self._calls.patience_s + timeout_s
        try:
            await self._calls.ask_within(
                patience_s, "StopContainer", request, pb.StopContainerResponse, container_id
            )
        except RuntimeFault as fault:
            if fault.code != NOT_FOUND:
                raise

    async def remove_container(self, container_id: str) -> None:
        """Forget it; one that is gone is forgotten."""
        request = pb.RemoveContainerRequest(container_id=container_id)
        try:
            await self._calls.ask("RemoveContainer", request, pb.RemoveContainerResponse, container_id)
        except RuntimeFault as fault:
            if fault.code != NOT_FOUND:
                raise

    async def update_container(self, container_id: str, resources: RuntimeResources) -> None:
        """Change its resources while it runs."""
        request = pb.UpdateContainerResourcesRequest(container_id=container_id, linux=amounts.updated(resources))
        reply = pb.UpdateContainerResourcesResponse
        await self._calls.ask("UpdateContainerResources", request, reply, container_id)

    async def exec_sync(self, container_id: str, command: Sequence[str], timeout_s: int) -> ExecResult:
        """Run a command in it; the runtime watches `timeout_s`, 0 lets it take as long as it likes."""
        request = pb.ExecSyncRequest(container_id=container_id, cmd=command, timeout=timeout_s)
        patience_s = self._calls.patience_s + timeout_s if timeout_s else None
        reply = await self._calls.ask_within(patience_s, "ExecSync", request, pb.ExecSyncResponse, container_id)
        return ExecResult(reply.stdout, reply.stderr, reply.exit_code)

    async def reopen_log(self, container_id: str) -> None:
        """Write the log into a new file of the same name from now on."""
        request = pb.ReopenContainerLogRequest(container_id=container_id)
        await self._calls.ask("ReopenContainerLog", request, pb.ReopenContainerLogResponse, container_id)


def container_config(config: ContainerConfig) -> pb.ContainerConfig:
    """A container as the runtime is told about it."""
    image = pb.ImageSpec(image=config.image_ref or config.image, user_specified_image=config.image)
    return pb.ContainerConfig(
        metadata=pb.ContainerMetadata(name=config.name, attempt=config.attempt),
        image=image,
        command=config.command,
        args=config.args,
        working_dir=config.working_dir,
        envs=[pb.KeyValue(key=name, value=value.encode(errors="surrogateescape")) for name, value in config.envs],
        mounts=[_mount(each) for each in config.mounts],
        devices=[
            pb.Device(container_path=each.container_path, host_path=each.host_path, permissions=each.permissions)
            for each in config.devices
        ],
        labels=config.labels,
        annotations=config.annotations,
        log_path=config.log_path,
        stdin=config.stdin,
        stdin_once=config.stdin_once,
        tty=config.tty,
        stop_signal=signals.sent(config.stop_signal),
        linux=pb.LinuxContainerConfig(
            resources=amounts.created(config.resources), security_context=security.of_container(config.security)
        ),
    )


def container_shown(status: pb.ContainerStatus, sandbox_id: str) -> Container:
    """A container as the runtime shows it; its status does not say which sandbox it is in."""
    return Container(
        id=status.id,
        name=status.metadata.name,
        sandbox_id=sandbox_id,
        attempt=status.metadata.attempt,
        state=state(status.state),
        image=status.image.image,
        image_ref=status.image_ref,
        image_id=status.image_id,
        created_at=status.created_at,
        started_at=status.started_at,
        finished_at=status.finished_at,
        exit_code=status.exit_code,
        reason=status.reason,
        message=status.message,
        labels=dict(status.labels),
        annotations=dict(status.annotations),
        mounts=tuple(_mount_shown(each) for each in status.mounts),
        log_path=status.log_path,
        resources=amounts.shown(status.resources.linux) if status.resources.HasField("linux") else None,
        user=_user(status.user.linux) if status.user.HasField("linux") else None,
        stop_signal=signals.shown(status.stop_signal),
    )


def state(number: int) -> str:
    """The state's word; one that we have not heard of is unknown."""
    return _STATES[number] if number < len(_STATES) else UNKNOWN


def _mount(mount: Mount) -> pb.Mount:
    return pb.Mount(
        container_path=mount.container_path,
        host_path=mount.host_path,
        readonly=mount.readonly,
        recursive_read_only=mount.recursive_read_only,
        selinux_relabel=mount.selinux_relabel,
        propagation=f"PROPAGATION_{mount.propagation}",
        uidMappings=security.id_mappings(mount.user_ids),
        gidMappings=security.id_mappings(mount.group_ids),
        image=_image(mount.image) if mount.image is not None else None,
        image_sub_path=mount.image.sub_path if mount.image is not None else "",
    )


def _image(image: ImageSource) -> pb.ImageSpec:
    return pb.ImageSpec(
        image=image.ref,
        user_specified_image=image.name,
        runtime_handler=image.handler,
        annotations=image.annotations,
    )


def _mount_shown(mount: pb.Mount) -> Mount:
    return Mount(
        container_path=mount.container_path,
        host_path=mount.host_path,
        readonly=mount.readonly,
        recursive_read_only=mount.recursive_read_only,
        selinux_relabel=mount.selinux_relabel,
        propagation=_PROPAGATIONS[mount.propagation],
        user_ids=_ids_shown(mount.uidMappings),
        group_ids=_ids_shown(mount.gidMappings),
        image=_image_shown(mount.image, mount.image_sub_path) if mount.HasField("image") else None,
    )


def _image_shown(image: pb.ImageSpec, sub_path: str) -> ImageSource:
    return ImageSource(
        ref=image.image,
        name=image.user_specified_image,
        handler=image.runtime_handler,
        annotations=dict(image.annotations),
        sub_path=sub_path,
    )


def _ids_shown(mappings: Sequence[pb.IDMapping]) -> tuple[IdMapping, ...]:
    return tuple(IdMapping(each.host_id, each.container_id, each.length) for each in mappings)


def _user(user: pb.LinuxContainerUser) -> ContainerUser:
    return ContainerUser(uid=user.uid, gid=user.gid, supplemental_groups=tuple(user.supplemental_groups))
