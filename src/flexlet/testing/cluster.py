"""The embedded API server in memory, with the parts of a control plane that pods meet before their node does.

Everything that is stored went through the same pipeline as over HTTPS: defaulting, admission, validation, rules of
subresources. Uids are numbers instead of chance, so that a story told twice is the same story.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from flexlet.apiserver import identities
from flexlet.apiserver.auth.pki import Pki, open_pki
from flexlet.apiserver.contract.admission import Plugin, View
from flexlet.apiserver.contract.request import AdmissionRequest, User
from flexlet.apiserver.firstobjects import FirstObjects
from flexlet.apiserver.local import LocalCluster
from flexlet.apiserver.rest.backend import StoreView
from flexlet.apiserver.rest.pipeline import Rest
from flexlet.apiserver.server import Settings, pipeline
from flexlet.core.controllers.nodelifecycle.decider import NodeLifecycleDecider
from flexlet.core.gates import Gates
from flexlet.core.refs import BUDGETS, LEASES, NAMESPACES, NODES, PODS
from flexlet.core.scheduling.decider import SchedulerDecider
from flexlet.engine.executor import Executor
from flexlet.engine.feed import Feed
from flexlet.engine.loop import Decider, Loop
from flexlet.engine.recorder import Recorder
from flexlet.ports import cluster as ports
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Ref
from flexlet.testing.memorystore import MemoryStore
from flexlet.testing.simtime import EPOCH

Json = dict[str, Any]

CONFIG_MAPS: Final = Ref("", "v1", "configmaps")
_TICK_S: Final = 1e-4
_FOLLOWS: Final = {"scheduler": (PODS, NODES, NAMESPACES, BUDGETS), "nodelifecycle": (NODES, LEASES, PODS)}


class SimCluster:
    """One API server; talk to it with `cluster` as an administrator, or as somebody else."""

    def __init__(self, rest: Rest, store: MemoryStore, clock: Clock) -> None:
        self.rest = rest
        self.store = store
        self.clock = clock
        self.cluster = LocalCluster(rest)

    def as_node(self, name: str) -> LocalCluster:
        """The API as a node sees it: admission restricts it to its own business."""
        groups = ("system:nodes", "system:authenticated")
        return LocalCluster(self.rest, User(name=f"system:node:{name}", groups=groups))

    async def create(self, ref: Ref, body: Json, namespace: str = "default") -> Json:
        """Store a new object."""
        return _value(await self.cluster.create(ref, namespace, body))

    async def pod(self, name: str, namespace: str = "default") -> Json:
        """A pod as it is stored; ApiError if it is not."""
        return _value(await self.cluster.get(ports.PODS, namespace, name))

    async def bind(self, name: str, node: str, namespace: str = "default") -> None:
        """Give a pod its node, as a scheduler does."""
        body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
        await self.cluster.create(ports.PODS, namespace, body, path=f"{name}/binding")

    async def resize(self, name: str, body: Json, namespace: str = "default") -> Json:
        """Ask for another size; ApiError if the server refuses."""
        return _value(
            await self.cluster.patch(ports.PODS, namespace, name, body, kind="strategic", subresource="resize")
        )

    async def delete(self, name: str, namespace: str = "default", grace_s: int | None = None) -> None:
        """Delete a pod."""
        options = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        await self.cluster.delete(ports.PODS, namespace, name, options)

    async def events(self, namespace: str = "default") -> list[Json]:
        """All events of a namespace, in the order in which they were first written."""
        listing = await self.cluster.list(ports.EVENTS, namespace)
        return sorted(map(_value, listing.items), key=lambda each: each["metadata"]["name"].rpartition(".")[2])

    async def schedule(self) -> None:
        """Schedule pods, and keep nodes' taints as their conditions are; until cancelled."""
        async with asyncio.TaskGroup() as group:
            for decider in (SchedulerDecider(), NodeLifecycleDecider()):
                group.create_task(self._loop(decider).run())

    def _loop(self, decider: Decider) -> Loop:
        feeds = [Feed(self.cluster, self.clock, Ref(*ref)) for ref in _FOLLOWS[decider.name]]
        recorder = Recorder(self.cluster, _Ahead(self.clock, len(decider.name) * _TICK_S))
        return Loop(decider, feeds, Executor(self.cluster, recorder), self.clock)


class _Ahead:
    """A clock a little ahead: events are named by their time, and in a simulation many happen at the same."""

    def __init__(self, clock: Clock, ahead_s: float) -> None:
        self._clock = clock
        self._ahead_s = ahead_s

    def now(self) -> float:
        return self._clock.now() + self._ahead_s

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)


@asynccontextmanager
async def serving(clock: Clock, gates: Gates | None = None) -> AsyncIterator[SimCluster]:
    """A new server with its first objects."""
    store = await MemoryStore.empty()
    pki = _pki()
    who = identities.assemble(store, StoreView(store), pki, clock.now)
    rest = pipeline(Settings(data=Path(), gates=gates or Gates()), clock, store, who)
    rest.backend.plugins = (*rest.backend.plugins, _Numbered())
    await FirstObjects(rest.backend, pki.ca_pem).bootstrap()
    try:
        yield SimCluster(rest, store, clock)
    finally:
        await store.close()


class _Numbered(Plugin):
    """Numbers objects instead of leaving their uids to chance."""

    name = "Numbered"

    def __init__(self) -> None:
        self._count = 0

    async def validate(self, request: AdmissionRequest, view: View) -> None:
        """The last to see a new object gives it its uid."""
        del view
        is_new = request.operation == "CREATE" and not request.subresource and request.kind.stored
        if is_new and request.obj is not None:
            self._count += 1
            request.obj["metadata"]["uid"] = f"00000000-0000-4000-8000-{self._count:012x}"


@cache
def _pki() -> Pki:
    """Keys are made once: nobody outside ever sees them."""
    with tempfile.TemporaryDirectory() as directory:
        return open_pki(Path(directory), ["127.0.0.1"], EPOCH)


def _value(raw: bytes) -> Json:
    found: Json = msgspec.json.decode(raw)
    return found
