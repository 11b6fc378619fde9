"""A pipeline on an empty store in memory, spoken to in plain values."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from flexlet.apiserver.contract.admission import Plugin
from flexlet.apiserver.contract.kind import Kind
from flexlet.apiserver.contract.request import LOOPBACK, WriteOptions
from flexlet.apiserver.kinds.table import builtin_kinds
from flexlet.apiserver.rest.backend import Backend
from flexlet.apiserver.rest.call import Answer, Call
from flexlet.apiserver.rest.deleteoptions import DeleteOptions
from flexlet.apiserver.rest.listoptions import ListOptions
from flexlet.apiserver.rest.patching import Patch
from flexlet.apiserver.rest.pipeline import Rest
from flexlet.apiserver.rest.registry import Registry
from flexlet.apiserver.store import Store
from flexlet.core.gates import DEFAULTS

NOW = 1_800_000_000.0
TIME = "2027-01-15T08:00:00Z"

Object = dict[str, Any]

DRY = WriteOptions(dry_run=True)
GROUPS = {"deployments": "apps", "replicasets": "apps", "jobs": "batch", "leases": "coordination.k8s.io"}
GROUPS |= {"poddisruptionbudgets": "policy"}


class World:
    """One pipeline and its clock."""

    def __init__(self, store: Store, plugins: Sequence[Plugin] = ()) -> None:
        self.now = NOW
        self.store = store
        self.registry = Registry(builtin_kinds(DEFAULTS))
        self.rest = Rest(Backend(store, self.registry, plugins, lambda: self.now))

    def kind(self, plural: str, group: str | None = None) -> Kind:
        found = self.registry.lookup(GROUPS.get(plural, "") if group is None else group, "v1", plural)
        assert found is not None
        return found

    def call(self, plural: str, name: str = "", subresource: str = "", **more: Any) -> Call:
        kind = self.kind(plural, more.pop("group", None))
        namespace = "ns" if kind.namespaced else ""
        more.setdefault("warnings", [])
        return Call(user=LOOPBACK, kind=kind, namespace=namespace, name=name, subresource=subresource, **more)

    async def create(self, plural: str, obj: Object, **more: Any) -> Object:
        return value(await self.rest.create(self.call(plural, **more), obj))

    def get(self, plural: str, name: str, **more: Any) -> Object:
        return value(self.rest.get(self.call(plural, name, **more)))

    async def update(self, plural: str, obj: Object, subresource: str = "", **more: Any) -> Object:
        call = self.call(plural, obj["metadata"]["name"], subresource, **more)
        return value(await self.rest.update(call, obj))

    async def patch(self, plural: str, name: str, patch: Any, how: str = "merge", **more: Any) -> Object:
        return value(await self.rest.patch(self.call(plural, name, **more), Patch(how, patch)))

    async def delete(self, plural: str, name: str, *, options: WriteOptions | None = None, **said: Any) -> Object:
        call = self.call(plural, name, options=options or WriteOptions())
        return value(await self.rest.delete(call, DeleteOptions(**said)))

    async def names(self, plural: str, **options: Any) -> list[str]:
        rows = await self.rest.list(self.kind(plural), "", ListOptions(**options))
        return [row.key for row in rows.rows]

    def watch(self, plural: str, **options: Any) -> "Following":
        return Following(self.rest.watch(self.kind(plural), "", ListOptions(**options)).batches())

    async def pod(self, name: str, *, node: str = "", phase: str = "", **metadata: Any) -> Object:
        """A pod, bound and in a phase if wanted."""
        spec: Object = {"containers": [{"name": "c", "image": "x"}]}
        if node:
            spec["nodeName"] = node
        pod = await self.create("pods", {"metadata": {"name": name, **metadata}, "spec": spec})
        if phase:
            pod = await self.patch("pods", name, {"status": {"phase": phase}}, subresource="status")
        return pod


class Following:
    """A watch whose events are taken one by one."""

    def __init__(self, batches: Any) -> None:
        self._batches = batches
        self._waiting: list[Any] = []

    async def next(self) -> tuple[str, Object]:
        """The next event."""
        while not self._waiting:
            async with asyncio.timeout(5):
                self._waiting = list(await anext(self._batches))
        event = self._waiting.pop(0)
        return event.type, msgspec.json.decode(event.value)

    async def take(self, count: int) -> list[tuple[str, str]]:
        """Type and name of the next events."""
        found = [await self.next() for _ in range(count)]
        return [(kind, obj["metadata"].get("name", "")) for kind, obj in found]

    async def close(self) -> None:
        await self._batches.aclose()


def value(answer: Answer) -> Object:
    decoded: Object = msgspec.json.decode(answer.value)
    return decoded


def config(name: str, data: Object | None = None, **metadata: Any) -> Object:
    obj: Object = {"metadata": {"name": name, **metadata}}
    return {**obj, "data": data} if data is not None else obj


def version(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])
