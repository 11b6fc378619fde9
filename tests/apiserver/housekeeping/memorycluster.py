"""A Cluster in memory, small enough for one loop's test: objects, a counter, queued changes."""

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from flexlet.api import status
from flexlet.apiserver.contract.kind import object_key
from flexlet.ports.cluster import Change, Listing, Ref


class StillClock:
    """Time stands still; sleeping lets others run."""

    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        """The one moment."""
        return self._now

    def monotonic(self) -> float:
        """The same."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Give way."""
        del seconds
        await asyncio.sleep(0)


class MemoryCluster:
    """Objects by collection and key; every write is recorded and told to the watchers."""

    def __init__(self) -> None:
        self.objects: dict[Ref, dict[str, Any]] = {}
        self.writes: list[tuple[str, str, str]] = []
        self.reviews: Callable[[Any], Any] | None = None
        self._version = 0
        self._history: list[tuple[int, Ref, Change]] = []
        self._queues: list[tuple[Ref, asyncio.Queue[Change | None]]] = []

    async def get(self, ref: Ref, namespace: str, name: str) -> bytes:
        """See `Cluster.get`."""
        return _encoded(self._found(ref, namespace, name))

    async def list(
        self, ref: Ref, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Listing:
        """See `Cluster.list`."""
        del namespace, label_selector, field_selector
        return Listing(tuple(_encoded(obj) for obj in self.objects.get(ref, {}).values()), str(self._version))

    async def watch(
        self,
        ref: Ref,
        resource_version: str,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[Sequence[Change]]:
        """See `Cluster.watch`."""
        del namespace, label_selector, field_selector
        queue: asyncio.Queue[Change | None] = asyncio.Queue()
        for version, changed, change in self._history:
            if changed == ref and version > int(resource_version):
                queue.put_nowait(change)
        self._queues.append((ref, queue))
        while (waited := await queue.get()) is not None:
            yield [waited]

    async def create(self, ref: Ref, namespace: str, body: dict[str, Any], *, path: str = "") -> bytes:
        """See `Cluster.create`."""
        assert not path
        if self.reviews is not None and ref.plural == "subjectaccessreviews":
            return _encoded(self.reviews(body))
        key = object_key(namespace, body["metadata"]["name"])
        if key in self.objects.get(ref, {}):
            raise status.already_exists(ref.plural, ref.group, body["metadata"]["name"])
        return self.put(ref, body, "ADDED", "create")

    async def patch(
        self, ref: Ref, namespace: str, name: str, patch: Any, *, kind: str = "merge", subresource: str = ""
    ) -> bytes:
        """See `Cluster.patch`: top-level fields only, which is all these loops change."""
        assert not subresource
        changes = patch if kind == "merge" else {entry["path"].strip("/"): entry["value"] for entry in patch}
        return self.put(ref, self._found(ref, namespace, name) | changes, "MODIFIED", "patch")

    async def update(
        self, ref: Ref, namespace: str, name: str, body: dict[str, Any], *, subresource: str = ""
    ) -> bytes:
        """See `Cluster.update`."""
        self._found(ref, namespace, name)
        return self.put(ref, body, "MODIFIED", subresource or "update")

    async def delete(self, ref: Ref, namespace: str, name: str, options: dict[str, Any] | None = None) -> None:
        """See `Cluster.delete`."""
        del options
        self._version += 1
        self._tell(ref, "DELETED", self.objects[ref].pop(object_key(namespace, name)))

    def put(self, ref: Ref, obj: Any, event: str = "ADDED", verb: str = "") -> bytes:
        """Store an object and tell the watchers."""
        stored = copy.deepcopy(obj)
        metadata = stored["metadata"]
        key = object_key(metadata.get("namespace", ""), metadata["name"])
        self._version += 1
        metadata["resourceVersion"] = str(self._version)
        self.objects.setdefault(ref, {})[key] = stored
        if verb:
            self.writes.append((verb, ref.plural, key))
        self._tell(ref, event, stored)
        return _encoded(stored)

    def end_watches(self) -> None:
        """End every stream well."""
        for _, queue in self._queues:
            queue.put_nowait(None)
        self._queues.clear()

    def _tell(self, ref: Ref, event: str, obj: Any) -> None:
        change = Change(event, _encoded(obj))
        self._history.append((self._version, ref, change))
        for wanted, queue in self._queues:
            if wanted == ref:
                queue.put_nowait(change)

    def _found(self, ref: Ref, namespace: str, name: str) -> Any:
        key = object_key(namespace, name)
        if key not in self.objects.get(ref, {}):
            raise status.not_found(ref.plural, ref.group, name)
        return self.objects[ref][key]


async def settle() -> None:
    """Let every task do what it can."""
    for _ in range(50):
        await asyncio.sleep(0)


def _encoded(obj: Any) -> bytes:
    return json.dumps(obj).encode()
