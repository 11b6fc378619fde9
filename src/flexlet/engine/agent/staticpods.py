"""Pods of the node's own files, and their mirrors in the API.

Manifests come from `Manifests`; which pods come and go is decided by the household of `core.staticpods`, which
pods have mirrors by its decider, that runs in a loop of its own over the feed of this node's pods. Here they are
brought together with the loop that owns the pods: a static pod enters as any other, from the source ``file``, and
its record knows the mirror that its status is reported to.

A manifest that changed while no agent ran left a pod of the same name and another uid in the runtime. It is ended
first, without waiting for the API: it may be the API server itself that must come back.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final, Protocol

import msgspec

from flexlet.api.nodepod import NodePod
from flexlet.core.agent import orphans
from flexlet.core.agent.containers import unsupported
from flexlet.core.agent.observations import FILE, PodGone, PodSeen
from flexlet.core.agent.record import PodRecord
from flexlet.core.agent.world import World
from flexlet.core.critical import MIRROR_ANNOTATION, SOURCE_ANNOTATION
from flexlet.core.runtime.shown import RuntimePod
from flexlet.core.staticpods.household import Household
from flexlet.core.staticpods.mirrors import MirrorDecider
from flexlet.core.staticpods.pods import Manifest, PodRules, Refused, StaticPod
from flexlet.engine.agent.loop import AgentLoop, Change
from flexlet.errors import RuntimeFault
from flexlet.ports.clock import Clock
from flexlet.ports.runtime import Observing

_RETRY_S: Final = 1.0

log: Final = logging.getLogger(__name__)


class Manifests(Protocol):
    """Where manifests are."""

    def changes(self) -> AsyncIterator[tuple[Manifest, ...]]:
        """All manifests, at once and then whenever they differ from the last time."""
        ...


class StaticSource(msgspec.Struct, frozen=True):
    """Manifests, and the rules by which they become pods."""

    manifests: Manifests
    rules: PodRules


class StaticPods:
    """The static pods of one node; without a source there are none, and mirrors that are left over go."""

    def __init__(
        self, node: str, source: StaticSource | None, loop: AgentLoop, runtime: Observing, clock: Clock
    ) -> None:
        self.decider = MirrorDecider(node)
        self.read = asyncio.Event()
        """Set when the manifests have been read once."""
        self.wake: Callable[[], None] = lambda: None
        """Lets the decider decide; set by whoever runs it."""
        self._source = source
        self._household = Household(node, source.rules) if source is not None else None
        self._loop = loop
        self._runtime = runtime
        self._clock = clock
        self._node_uid = ""
        self._mirrors: dict[str, NodePod] = {}
        self._superseded: dict[str, tuple[str, str]] = {}
        self._refused: frozenset[Refused] = frozenset()

    @property
    def pods(self) -> tuple[StaticPod, ...]:
        """The pods that the manifests ask for."""
        return () if self._household is None else self._household.pods

    async def run(self) -> None:
        """Until cancelled."""
        if self._source is None or self._household is None:
            self.read.set()
            return
        async for found in self._source.manifests.changes():
            self._household.learn(found, self._clock.now())
            self._complain(self._household.refused)
            if not self.read.is_set():
                await self._end_superseded()
            self._bring_up_to_date()
            self.read.set()

    def take(self, mirrors: Iterable[NodePod], gone: Iterable[str]) -> None:
        """What the API shows of mirrors."""
        for mirror in mirrors:
            uid = mirror.metadata.annotations[MIRROR_ANNOTATION]
            self._mirrors[uid] = mirror
            self._loop.tell(_mirrored(uid, mirror))
        left = set(gone)
        for uid in [uid for uid, mirror in self._mirrors.items() if mirror.metadata.uid in left]:
            del self._mirrors[uid]
            self._loop.tell(_mirrored(uid, None))

    def belong_to(self, node_uid: str) -> None:
        """The Node in the API, to which mirrors belong."""
        if node_uid != self._node_uid:
            self._node_uid = node_uid
            self._bring_up_to_date()

    def forgotten(self, uid: str) -> None:
        """Nothing is left of a pod; one that waited for its name may come."""
        self._superseded.pop(uid, None)
        self._bring_up_to_date()

    def _bring_up_to_date(self) -> None:
        live = self._live()
        if self._household is not None:
            changes = self._household.changes(live)
            for pod in changes.seen:
                self._loop.tell(
                    PodSeen(pod.pod, FILE, unsupported.found(pod.body)),
                    _mirrored(pod.uid, self._mirrors.get(pod.uid)),
                )
            self._loop.tell(*map(PodGone, changes.gone))
        self.decider.learn(self.pods, live, self._node_uid)
        self.wake()

    def _live(self) -> dict[str, tuple[str, str]]:
        """Static pods of which something is left, by uid, with their names."""
        records = self._loop.world.pods
        return self._superseded | {uid: _name(each) for uid, each in records.items() if each.source == FILE}

    def _complain(self, refused: Iterable[Refused]) -> None:
        """Once about each manifest that cannot be used, until it changes."""
        found = frozenset(refused)
        for each in sorted(found - self._refused, key=lambda each: each.path):
            log.warning("%s is not run: %s", each.path, each.message)
        self._refused = found

    async def _end_superseded(self) -> None:
        """End pods of the names of ours that an earlier agent ran from files that have changed since."""
        while True:
            try:
                await self._look_for_superseded()
            except RuntimeFault as fault:
                log.warning("cannot look for pods of older manifests: %s", fault.detail)
                await self._clock.sleep(_RETRY_S)
            else:
                return

    async def _look_for_superseded(self) -> None:
        names = {pod.full_name for pod in self.pods}
        if not names:
            return
        present = {each.uid for each in await self._runtime.overview()} - {pod.uid for pod in self.pods}
        for uid in sorted(present):
            shown = await self._runtime.inspect(uid)
            record = orphans.record_of(shown, self._clock.now())
            if _is_static(shown) and _name(record) in names:
                self._superseded[uid] = _name(record)
                self._loop.tell(_adopted(record))


def _name(record: PodRecord) -> tuple[str, str]:
    return record.pod.metadata.namespace, record.pod.metadata.name


def _is_static(shown: RuntimePod) -> bool:
    return any(each.annotations.get(SOURCE_ANNOTATION) == FILE for each in shown.sandboxes)


def _adopted(record: PodRecord) -> Change:
    return lambda world: world if record.uid in world.pods else world.with_pods({record.uid: record})


def _mirrored(uid: str, mirror: NodePod | None) -> Change:
    """The static pod with its mirror; another mirror has been told nothing yet."""

    def change(world: World) -> World:
        record = world.pods.get(uid)
        if record is None or record.source != FILE or record.mirror == mirror:
            return world
        known = record.mirror.metadata.uid if record.mirror is not None else ""
        reported = record.reported if mirror is not None and mirror.metadata.uid == known else None
        return world.with_pods({uid: msgspec.structs.replace(record, mirror=mirror, reported=reported)})

    return change
