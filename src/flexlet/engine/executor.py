"""Carry out API actions through the Cluster port, several at a time, and bring back what the server said."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

import msgspec

from flexlet.api.status import ApiError
from flexlet.core.actions import ApiAction, CreateObject, DeleteObject, LookUp, PatchObject, RecordEvent
from flexlet.core.actions import Ref as Triple
from flexlet.core.observations import Absent, Failed, Observation, Seen, Vanished
from flexlet.core.views import objects
from flexlet.engine.recorder import Recorder
from flexlet.ports.cluster import Cluster, Ref

CONCURRENCY: Final = 32
PATIENCE_S: Final = 30.0

log: Final = logging.getLogger(__name__)


class Executor:
    """Runs the actions of one plan; order among them is not kept, the plan must not need it."""

    def __init__(self, cluster: Cluster, recorder: Recorder, concurrency: int = CONCURRENCY) -> None:
        self._cluster = cluster
        self._recorder = recorder
        self._slots = asyncio.Semaphore(concurrency)

    async def run(self, actions: Sequence[ApiAction]) -> list[Observation]:
        """Do them all; every answer, and every refusal, comes back as an observation."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(action)) for action in actions]
        return [observation for task in tasks if (observation := task.result()) is not None]

    async def _one(self, action: ApiAction) -> Observation | None:
        async with self._slots:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    return await self._act(action)
            except ApiError as error:
                return _refused(action, error)
            except TimeoutError:
                return Failed(action, 504, "Timeout", f"no answer within {PATIENCE_S:.0f} s")
            except Exception as error:  # one action that nobody can carry out is not all of them
                log.warning("action failed: %s: %s", type(error).__name__, error, exc_info=error)
                return Failed(action, 500, "InternalError", f"{type(error).__name__}: {error}")

    async def _act(self, action: ApiAction) -> Observation | None:
        match action:
            case CreateObject():
                return await self._create(action)
            case PatchObject():
                return await self._patch(action)
            case DeleteObject():
                await self._cluster.delete(Ref(*action.ref), action.namespace, action.name, _options(action))
                await self._tell(action.event, action.name)
                return None
            case LookUp():
                return _seen(action.ref, await self._cluster.get(Ref(*action.ref), action.namespace, action.name))
            case RecordEvent():
                await self._recorder.record(action)
                return None

    async def _create(self, action: CreateObject) -> Observation | None:
        raw = await self._cluster.create(Ref(*action.ref), action.namespace, action.body, path=action.path)
        if action.path:
            await self._tell(action.event, action.path.partition("/")[0])
            return None
        seen = _seen(action.ref, raw)
        await self._tell(action.event, seen.view.name if seen.view else "")
        return seen

    async def _patch(self, action: PatchObject) -> Observation:
        raw = await self._cluster.patch(
            Ref(*action.ref),
            action.namespace,
            action.name,
            action.patch,
            kind=action.kind,
            subresource=action.subresource,
        )
        await self._tell(action.event, action.name)
        return _seen(action.ref, raw)

    async def _tell(self, event: RecordEvent | None, name: str) -> None:
        if event is not None:
            message = event.message.replace("{name}", name)
            await self._recorder.record(msgspec.structs.replace(event, message=message))


def _seen(ref: Triple, raw: bytes) -> Seen:
    view, revision = objects.view(raw)
    return Seen(ref, raw, revision, view)


def _refused(action: ApiAction, error: ApiError) -> Observation:
    """Deleting what is gone is no failure, and neither is not finding what was looked for."""
    if error.code == 404 and isinstance(action, DeleteObject):
        return Vanished(action.ref, action.namespace, action.name, action.uid)
    if error.code == 404 and isinstance(action, LookUp):
        return Absent(action.ref, action.namespace, action.name)
    return Failed(action, error.code, error.reason, str(error))


def _options(action: DeleteObject) -> dict[str, object]:
    options: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if action.grace_seconds is not None:
        options["gracePeriodSeconds"] = action.grace_seconds
    preconditions = {"uid": action.uid, "resourceVersion": action.resource_version}
    preconditions = {key: value for key, value in preconditions.items() if value}
    if preconditions:
        options["preconditions"] = preconditions
    if action.propagation:
        options["propagationPolicy"] = action.propagation
    return options
