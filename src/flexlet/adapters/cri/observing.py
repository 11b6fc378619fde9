"""Looking: who the runtime is, how it feels, what it has.

A quick look is two lists. A close look at one pod is the same two lists, narrowed down by the pod's uid, and then
a status of everything found, all at once; what vanishes between list and status is left out.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Final, TypeVar

from flexlet.adapters.cri._gen import cri_pb2 as pb
from flexlet.adapters.cri.calls import NOT_FOUND, Calls, is_unknown_method
from flexlet.adapters.cri.containers import container_shown
from flexlet.adapters.cri.containers import state as container_state
from flexlet.adapters.cri.sandboxes import sandbox_shown
from flexlet.adapters.cri.sandboxes import state as sandbox_state
from flexlet.core.runtime.shown import (
    Container,
    Glimpse,
    RuntimeCondition,
    RuntimeHandler,
    RuntimePod,
    RuntimeStatus,
    RuntimeVersion,
    Sandbox,
)
from flexlet.errors import ConfigError, RuntimeFault

INTERFACE: Final = "0.1.0"
"""The version of the interface; it has never been another."""

UID_LABEL: Final = "io.kubernetes.pod.uid"

Shown = TypeVar("Shown", Sandbox, Container)


class ObservingCalls:
    """`flexlet.ports.runtime.Observing` over CRI."""

    _calls: Calls

    async def version(self) -> RuntimeVersion:
        """Who answers; refuses an interface that flexlet does not speak."""
        reply = await self._calls.ask("Version", pb.VersionRequest(version=INTERFACE), pb.VersionResponse)
        named = (reply.version, reply.runtime_name, reply.runtime_version, reply.runtime_api_version)
        if not all(named) or reply.version != INTERFACE:
            raise ConfigError(
                f"the container runtime introduces itself as {named}; flexlet speaks version {INTERFACE} of CRI "
                "with runtimes that have a name and a version, such as containerd 1.7 or CRI-O 1.36"
            )
        return RuntimeVersion(reply.runtime_name, reply.runtime_version)

    async def status(self) -> RuntimeStatus:
        """How the runtime feels."""
        reply = await self._calls.ask("Status", pb.StatusRequest(), pb.StatusResponse)
        return RuntimeStatus(
            conditions=tuple(_condition(each) for each in reply.status.conditions),
            handlers=tuple(_handler(each) for each in reply.runtime_handlers),
            supplemental_groups_policy=(
                reply.features.supplemental_groups_policy if reply.HasField("features") else None
            ),
        )

    async def cgroup_driver(self) -> str | None:
        """Asked of a runtime that knows; containerd 1.7 does not, others may leave the answer out."""
        try:
            reply = await self._calls.ask("RuntimeConfig", pb.RuntimeConfigRequest(), pb.RuntimeConfigResponse)
        except RuntimeFault as fault:
            if is_unknown_method(fault):
                return None
            raise
        if not reply.HasField("linux"):
            return None
        return "systemd" if reply.linux.cgroup_driver == pb.SYSTEMD else "cgroupfs"

    async def overview(self) -> tuple[Glimpse, ...]:
        """Two lists; what carries no uid was not made for a pod."""
        sandboxes, containers = await self._lists({})
        found = [
            Glimpse(each.labels[UID_LABEL], each.id, sandbox_state(each.state), is_sandbox=True)
            for each in sandboxes
            if UID_LABEL in each.labels
        ]
        found += [
            Glimpse(each.labels[UID_LABEL], each.id, container_state(each.state))
            for each in containers
            if UID_LABEL in each.labels
        ]
        return tuple(found)

    async def inspect(self, uid: str) -> RuntimePod:
        """Everything about one pod, newest first."""
        sandboxes, containers = await self._lists({UID_LABEL: uid})
        async with _at_once() as group:
            sandbox_looks = [group.create_task(_if_present(self._sandbox(each.id))) for each in sandboxes]
            container_looks = [
                group.create_task(_if_present(self._container(each.id, each.pod_sandbox_id)))
                for each in containers
            ]
        return RuntimePod(uid, _newest_first(sandbox_looks), _newest_first(container_looks))

    async def events(self) -> AsyncGenerator[str]:
        """Uids of pods in which something happened; ends when the stream does, however that is."""
        try:
            stream = self._calls.listen("GetContainerEvents", pb.GetEventsRequest(), pb.ContainerEventResponse)
            async with aclosing(stream) as events:
                async for event in events:
                    if uid := event.pod_sandbox_status.metadata.uid:
                        yield uid
        except RuntimeFault:
            return

    async def _lists(self, labels: dict[str, str]) -> tuple[Sequence[pb.PodSandbox], Sequence[pb.Container]]:
        sandboxes_with = pb.ListPodSandboxRequest(filter=pb.PodSandboxFilter(label_selector=labels))
        containers_with = pb.ListContainersRequest(filter=pb.ContainerFilter(label_selector=labels))
        async with _at_once() as group:
            sandboxes = group.create_task(
                self._calls.ask("ListPodSandbox", sandboxes_with, pb.ListPodSandboxResponse)
            )
            containers = group.create_task(
                self._calls.ask("ListContainers", containers_with, pb.ListContainersResponse)
            )
        return sandboxes.result().items, containers.result().containers

    async def _sandbox(self, sandbox_id: str) -> Sandbox:
        request = pb.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
        reply = await self._calls.ask("PodSandboxStatus", request, pb.PodSandboxStatusResponse, sandbox_id)
        return sandbox_shown(reply.status)

    async def _container(self, container_id: str, sandbox_id: str) -> Container:
        request = pb.ContainerStatusRequest(container_id=container_id)
        reply = await self._calls.ask("ContainerStatus", request, pb.ContainerStatusResponse, container_id)
        return container_shown(reply.status, sandbox_id)


@asynccontextmanager
async def _at_once() -> AsyncIterator[asyncio.TaskGroup]:
    """A task group whose first failure is raised by itself."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _if_present(question: Coroutine[Any, Any, Shown]) -> Shown | None:
    try:
        return await question
    except RuntimeFault as fault:
        if fault.code != NOT_FOUND:
            raise
        return None


def _newest_first(tasks: Iterable[asyncio.Task[Shown | None]]) -> tuple[Shown, ...]:
    found = [shown for task in tasks if (shown := task.result()) is not None]
    return tuple(sorted(found, key=lambda each: (each.created_at, each.attempt), reverse=True))


def _condition(condition: pb.RuntimeCondition) -> RuntimeCondition:
    return RuntimeCondition(
        type=condition.type, status=condition.status, reason=condition.reason, message=condition.message
    )


def _handler(handler: pb.RuntimeHandler) -> RuntimeHandler:
    return RuntimeHandler(
        name=handler.name,
        recursive_read_only_mounts=handler.features.recursive_read_only_mounts,
        user_namespaces=handler.features.user_namespaces,
    )
