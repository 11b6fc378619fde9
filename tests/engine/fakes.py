"""A cluster in a dict and a clock that only the test moves."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from flexlet.api import status
from flexlet.api.patch import merge
from flexlet.ports.cluster import Change, Listing, Ref


class FakeClock:
    """Time stands still; sleeping yields once and is noted."""

    def __init__(self) -> None:
        self.time = 1_000_000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


class FakeCluster:
    """Objects by (plural, namespace, name); every write is logged and watched."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.log: list[tuple[Any, ...]] = []
        self.refuse: dict[str, status.ApiError] = {}
        self._watchers: list[tuple[str, asyncio.Queue[Change | None]]] = []
        self._revision = 0

    def put(self, plural: str, body: dict[str, Any], kind: str = "ADDED") -> bytes:
        """Store an object and tell the watchers."""
        meta = body["metadata"]
        self._revision += 1
        meta["resourceVersion"] = str(self._revision)
        meta.setdefault("uid", f"uid-{meta['name']}")
        self.objects[plural, meta.get("namespace", ""), meta["name"]] = body
        raw = msgspec.json.encode(body)
        self._tell(plural, Change(kind, raw))
        return raw

    def drop(self, plural: str, namespace: str, name: str) -> None:
        """Remove an object and tell the watchers."""
        body = self.objects.pop((plural, namespace, name))
        self._tell(plural, Change("DELETED", msgspec.json.encode(body)))

    def end_watches(self) -> None:
        """Close every watch, as a server does after a while."""
        for _, queue in self._watchers:
            queue.put_nowait(None)
        self._watchers.clear()

    def _tell(self, plural: str, change: Change) -> None:
        for watched, queue in self._watchers:
            if watched == plural:
                queue.put_nowait(change)

    def _check(self, verb: str) -> None:
        if verb in self.refuse:
            raise self.refuse[verb]

    async def get(self, ref: Ref, namespace: str, name: str) -> bytes:
        try:
            return msgspec.json.encode(self.objects[ref.plural, namespace, name])
        except KeyError:
            raise status.not_found(ref.plural, ref.group, name) from None

    async def list(
        self, ref: Ref, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Listing:
        del namespace, label_selector, field_selector
        self._check("list")
        items = tuple(msgspec.json.encode(o) for (plural, _, _), o in self.objects.items() if plural == ref.plural)
        return Listing(items, str(self._revision))

    async def watch(
        self,
        ref: Ref,
        resource_version: str,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[Sequence[Change]]:
        del resource_version, namespace, label_selector, field_selector
        queue: asyncio.Queue[Change | None] = asyncio.Queue()
        self._watchers.append((ref.plural, queue))
        while (change := await queue.get()) is not None:
            yield [change]

    async def create(self, ref: Ref, namespace: str, body: dict[str, Any], *, path: str = "") -> bytes:
        self._check("create")
        self.log.append(("create", ref.plural, namespace, path or body["metadata"]["name"]))
        if path:
            return b"{}"
        body["metadata"]["namespace"] = namespace
        return self.put(ref.plural, body)

    async def patch(
        self, ref: Ref, namespace: str, name: str, patch: Any, *, kind: str = "merge", subresource: str = ""
    ) -> bytes:
        self._check("patch")
        self.log.append(("patch", ref.plural, namespace, name, subresource, kind))
        return self.put(ref.plural, merge.apply(self.objects[ref.plural, namespace, name], patch), "MODIFIED")

    async def update(
        self, ref: Ref, namespace: str, name: str, body: dict[str, Any], *, subresource: str = ""
    ) -> bytes:
        self.log.append(("update", ref.plural, namespace, name, subresource))
        return self.put(ref.plural, body, "MODIFIED")

    async def delete(self, ref: Ref, namespace: str, name: str, options: dict[str, Any] | None = None) -> None:
        self._check("delete")
        self.log.append(("delete", ref.plural, namespace, name, options))
        if (ref.plural, namespace, name) not in self.objects:
            raise status.not_found(ref.plural, ref.group, name)
        self.drop(ref.plural, namespace, name)
