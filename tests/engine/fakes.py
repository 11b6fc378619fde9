"""A cluster in a dict and a clock that only the test moves."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from flexlet.api import age, schema, status
from flexlet.api.patch import json_patch, merge, strategic
from flexlet.ports.cluster import Change, Listing, Ref

Object = dict[str, Any]


class FakeClock:
    """Time stands still; sleeping yields once, moves it, and is noted."""

    def __init__(self, time: float = 1_000_000.0) -> None:
        self.time = time
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


class ManualClock:
    """Time that only `advance` moves; sleepers wake up when their time has come."""

    def __init__(self, time: float = 1_800_000_000.0) -> None:
        self.time = time
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        alarm = asyncio.Event()
        self._sleepers.append((self.time + seconds, alarm))
        await alarm.wait()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.time += seconds
        due = [alarm for when, alarm in self._sleepers if when <= self.time]
        self._sleepers = [entry for entry in self._sleepers if entry[0] > self.time]
        for alarm in due:
            alarm.set()


class FakeCluster:
    """Objects by (plural, namespace, name); every write is logged and watched.

    As much of a server as controllers notice: names, uids, generations, finalizers, preconditions, the three kinds
    of patches, and watches that go on from a version. Pods are deleted at once.
    """

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.log: list[tuple[Any, ...]] = []
        self.refuse: dict[str, status.ApiError] = {}
        self._changes: list[tuple[int, str, Change]] = []
        self._watchers: list[tuple[str, asyncio.Queue[Change | None]]] = []
        self._revision = 0

    def put(self, plural: str, body: Object, kind: str = "ADDED") -> bytes:
        """Store an object and tell the watchers."""
        body = msgspec.json.decode(msgspec.json.encode(body))
        meta = body["metadata"]
        self._revision += 1
        meta["resourceVersion"] = str(self._revision)
        meta.setdefault("uid", f"uid-{meta['name']}")
        self.objects[plural, meta.get("namespace", ""), meta["name"]] = body
        return self._tell(plural, kind, body)

    def drop(self, plural: str, namespace: str, name: str) -> None:
        """Remove an object and tell the watchers."""
        body = self.objects.pop((plural, namespace, name))
        self._revision += 1
        body["metadata"]["resourceVersion"] = str(self._revision)
        self._tell(plural, "DELETED", body)

    def all(self, plural: str) -> list[Object]:
        """The objects of a resource."""
        return [body for (kind, _, _), body in self.objects.items() if kind == plural]

    def end_watches(self) -> None:
        """Close every watch, as a server does after a while."""
        for _, queue in self._watchers:
            queue.put_nowait(None)
        self._watchers.clear()

    def _tell(self, plural: str, kind: str, body: Object) -> bytes:
        raw = msgspec.json.encode(body)
        change = Change(kind, raw)
        self._changes.append((self._revision, plural, change))
        for watched, queue in self._watchers:
            if watched == plural:
                queue.put_nowait(change)
        return raw

    def _check(self, verb: str) -> None:
        if verb in self.refuse:
            raise self.refuse[verb]

    def _find(self, ref: Ref, namespace: str, name: str) -> Object:
        try:
            return self.objects[ref.plural, namespace, name]
        except KeyError:
            raise status.not_found(ref.plural, ref.group, name) from None

    async def get(self, ref: Ref, namespace: str, name: str) -> bytes:
        self._check("get")
        self.log.append(("get", ref.plural, namespace, name))
        return msgspec.json.encode(self._find(ref, namespace, name))

    async def list(
        self, ref: Ref, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Listing:
        del namespace, label_selector, field_selector
        self._check("list")
        items = tuple(map(msgspec.json.encode, self.all(ref.plural)))
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
        del namespace, label_selector, field_selector
        self._check("watch")
        queue: asyncio.Queue[Change | None] = asyncio.Queue()
        for revision, plural, change in self._changes:
            if plural == ref.plural and revision > int(resource_version):
                queue.put_nowait(change)
        self._watchers.append((ref.plural, queue))
        while (event := await queue.get()) is not None:
            yield [event]

    async def create(self, ref: Ref, namespace: str, body: Object, *, path: str = "") -> bytes:
        self._check("create")
        if path:
            self.log.append(("create", ref.plural, namespace, path))
            return self._bind(namespace, body) if path.endswith("/binding") else b"{}"
        body = msgspec.json.decode(msgspec.json.encode(body))
        meta = body["metadata"]
        if "generateName" in meta:
            meta["name"] = f"{meta['generateName']}{self._revision:05}"
        self.log.append(("create", ref.plural, namespace, meta["name"]))
        if (ref.plural, namespace, meta["name"]) in self.objects:
            raise status.already_exists(ref.plural, ref.group, meta["name"])
        meta |= {"namespace": namespace, "uid": f"uid-{meta['name']}", "generation": 1}
        meta["creationTimestamp"] = age.format_seconds(self._revision)
        return self.put(ref.plural, body)

    def _bind(self, namespace: str, body: Object) -> bytes:
        if not body:
            return b"{}"
        pod = self.objects["pods", namespace, body["metadata"]["name"]]
        bound = {**pod, "spec": {**pod["spec"], "nodeName": body["target"]["name"]}}
        return self.put("pods", bound, "MODIFIED")

    async def patch(
        self, ref: Ref, namespace: str, name: str, patch: Any, *, kind: str = "merge", subresource: str = ""
    ) -> bytes:
        self._check("patch")
        self.log.append(("patch", ref.plural, namespace, name, subresource, kind))
        before = self._find(ref, namespace, name)
        wanted = patch.get("metadata", {}).get("resourceVersion") if isinstance(patch, dict) else None
        if wanted not in {None, before["metadata"]["resourceVersion"]}:
            raise status.conflict(ref.plural, ref.group, name, "the object has been modified")
        after = _patched(before, patch, kind)
        if after == before:
            return msgspec.json.encode(before)
        if after.get("spec") != before.get("spec"):
            after["metadata"] = {**after["metadata"], "generation": after["metadata"].get("generation", 0) + 1}
        if after["metadata"].get("deletionTimestamp") and not after["metadata"].get("finalizers"):
            self.drop(ref.plural, namespace, name)
            return msgspec.json.encode(after)
        return self.put(ref.plural, after, "MODIFIED")

    async def update(self, ref: Ref, namespace: str, name: str, body: Object, *, subresource: str = "") -> bytes:
        self._find(ref, namespace, name)
        self.log.append(("update", ref.plural, namespace, name, subresource))
        return self.put(ref.plural, body, "MODIFIED")

    async def delete(self, ref: Ref, namespace: str, name: str, options: Object | None = None) -> None:
        self._check("delete")
        self.log.append(("delete", ref.plural, namespace, name, options))
        body = self._find(ref, namespace, name)
        meta = dict(body["metadata"])
        for field, value in ((options or {}).get("preconditions") or {}).items():
            if meta[field] != value:
                raise status.conflict(ref.plural, ref.group, name, f"the precondition on {field} failed")
        added = {"Foreground": ["foregroundDeletion"], "Orphan": ["orphan"]}
        finalizers = meta.get("finalizers", []) + added.get((options or {}).get("propagationPolicy", ""), [])
        if not finalizers:
            self.drop(ref.plural, namespace, name)
        elif "deletionTimestamp" not in meta:
            meta |= {"finalizers": finalizers, "deletionTimestamp": age.format_seconds(self._revision)}
            self.put(ref.plural, {**body, "metadata": meta}, "MODIFIED")


def _patched(before: Object, patch: Any, kind: str) -> Object:
    if kind == "json":
        changed: Object = json_patch.apply(before, patch)
        return changed
    group, _, version = before.get("apiVersion", "v1").rpartition("/")
    shape = schema.type_for(group, version, before.get("kind", "")) if kind == "strategic" else None
    return merge.apply(before, patch) if shape is None else strategic.apply(shape, before, patch).value
