"""Pods of one namespace, or other objects, as they change, with the time at which each change arrived.

The measuring must not disturb what is measured: one watch for everything, nothing is polled. Times are of this
host's clock, taken when the change was read.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from flexlet.adapters.kube.client import HttpCluster
from flexlet.ports.cluster import PODS, Cluster, Ref

Json = dict[str, Any]
Holds = Callable[[Json | None], bool]
"""Asked with a pod, or None when it is gone."""

NAMESPACE: Final = "default"
PATIENCE_S: Final = 600.0


class PodWatch:
    """Remembers every change since the last `forget`."""

    def __init__(self, cluster: Cluster, ref: Ref = PODS, namespace: str = NAMESPACE) -> None:
        self._cluster = cluster
        self._ref = ref
        self._namespace = namespace
        self._seen: list[tuple[float, str, Json | None]] = []
        self._arrived = asyncio.Event()

    async def follow(self) -> None:
        """Until cancelled."""
        version = (await self._cluster.list(self._ref, self._namespace)).resource_version
        async for changes in self._cluster.watch(self._ref, version, self._namespace):
            at = time.monotonic()
            for change in changes:
                pod = msgspec.json.decode(change.object)
                gone = change.type == "DELETED"
                self._seen.append((at, pod["metadata"]["name"], None if gone else pod))
            self._arrived.set()

    def forget(self) -> None:
        """What came before now does not count."""
        self._seen.clear()

    async def when(self, name: str, holds: Holds, what: str) -> float:
        """When it first held; TimeoutError with the last status if it never did."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self._first(name, holds)
        except TimeoutError as error:
            last = next((pod for _, each, pod in reversed(self._seen) if each == name), None) or {}
            raise TimeoutError(f"{name} was not {what} within {PATIENCE_S:g} s: {last.get('status')}") from error

    async def _first(self, name: str, holds: Holds) -> float:
        looked_at = 0
        while True:
            self._arrived.clear()
            for at, each, pod in self._seen[looked_at:]:
                if each == name and holds(pod):
                    return at
            looked_at = len(self._seen)
            await self._arrived.wait()


@asynccontextmanager
async def watching(cluster: HttpCluster, ref: Ref = PODS, namespace: str = NAMESPACE) -> AsyncIterator[PodWatch]:
    """A watch that follows while the block runs."""
    watch = PodWatch(cluster, ref, namespace)
    following = asyncio.ensure_future(watch.follow())
    try:
        yield watch
    finally:
        following.cancel()
        await asyncio.wait({following})


def gone(pod: Json | None) -> bool:
    """Whether the API has let it go."""
    return pod is None


def all_running(pod: Json | None) -> bool:
    """Whether every container runs."""
    statuses = ((pod or {}).get("status") or {}).get("containerStatuses") or ()
    return bool(statuses) and all("running" in each.get("state", {}) for each in statuses)


def resized(generation: int) -> Holds:
    """Whether the status says that this generation's sizes are in force, everywhere and without reservation."""

    def holds(pod: Json | None) -> bool:
        if pod is None or pod["status"].get("observedGeneration", 0) < generation:
            return False
        resizing = [each["type"] for each in pod["status"].get("conditions") or () if "Resize" in each["type"]]
        return not resizing and all(_in_force(*each) for each in _sizes(pod))

    return holds


def _sizes(pod: Json) -> list[tuple[Json, Json]]:
    """What was asked beside what is told, for the pod and for each container."""
    told = {each["name"]: each for each in pod["status"].get("containerStatuses") or ()}
    asked = pod["spec"]["containers"]
    pairs = [(each.get("resources") or {}, told.get(each["name"], {})) for each in asked]
    return [*pairs, (pod["spec"]["resources"], pod["status"])] if "resources" in pod["spec"] else pairs


def _in_force(asked: Json, told: Json) -> bool:
    """Limits as the kernel has them, requests as allocated: kubelet's reading of a request of CPU loses digits."""
    limits = (told.get("resources") or {}).get("limits") or {}
    allocated = told.get("allocatedResources") or {}
    return limits == (asked.get("limits") or {}) and allocated == (asked.get("requests") or {})
