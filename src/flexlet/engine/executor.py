"""Carry out API actions through the Cluster port, several at a time, and bring back what the server said."""

import asyncio
from collections.abc import Sequence
from typing import Final

from flexlet.api.status import ApiError
from flexlet.core.actions import ApiAction, CreateObject, DeleteObject, PatchObject, RecordEvent
from flexlet.core.observations import Failed, Observation, Seen, Vanished
from flexlet.engine.recorder import Recorder
from flexlet.ports.cluster import Cluster, Ref

CONCURRENCY: Final = 32


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
                return await self._act(action)
            except ApiError as error:
                if error.code == 404 and isinstance(action, DeleteObject):
                    return Vanished(action.ref, action.namespace, action.name, action.uid)
                return Failed(action, error.code, error.reason, str(error))

    async def _act(self, action: ApiAction) -> Observation | None:
        match action:
            case CreateObject():
                ref = Ref(*action.ref)
                raw = await self._cluster.create(ref, action.namespace, action.body, path=action.path)
                return None if action.path else Seen(action.ref, raw)
            case PatchObject():
                raw = await self._cluster.patch(
                    Ref(*action.ref),
                    action.namespace,
                    action.name,
                    action.patch,
                    kind=action.kind,
                    subresource=action.subresource,
                )
                return Seen(action.ref, raw)
            case DeleteObject():
                await self._cluster.delete(Ref(*action.ref), action.namespace, action.name, _options(action))
                return None
            case RecordEvent():
                await self._recorder.record(action)
                return None


def _options(action: DeleteObject) -> dict[str, object]:
    options: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if action.grace_seconds is not None:
        options["gracePeriodSeconds"] = action.grace_seconds
    if action.uid:
        options["preconditions"] = {"uid": action.uid}
    if action.propagation:
        options["propagationPolicy"] = action.propagation
    return options
