"""List, then watch, and list again when the watch ends: a stream of observations about one resource.

The consumer sees every object once after the (re)list, then changes. What disappeared while the watch was down is
reported as Vanished after the re-list. Connection trouble is retried with growing pauses; the pauses are the only
place where time matters, and the clock is handed in.
"""

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Final

import msgspec

from flexlet.api.status import ApiError
from flexlet.core.observations import Observation, Seen, Vanished
from flexlet.ports.clock import Clock
from flexlet.ports.cluster import Change, Cluster, Ref

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 10.0


class _Identity(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Envelope(msgspec.Struct, frozen=True):
    metadata: _Identity


_decoder: Final = msgspec.json.Decoder(_Envelope)


class Feed:
    """One resource, followed for ever. Iterate `batches()` once."""

    def __init__(
        self, cluster: Cluster, clock: Clock, ref: Ref, *, namespace: str = "", field_selector: str = ""
    ) -> None:
        self.ref = ref
        self._cluster = cluster
        self._clock = clock
        self._namespace = namespace
        self._field_selector = field_selector
        self._known: dict[tuple[str, str], str] = {}
        self._pause = _FIRST_PAUSE_S

    async def batches(self) -> AsyncIterator[list[Observation]]:
        """Observations as they come; the first batch is the whole list, even if empty."""
        while True:
            with contextlib.suppress(ApiError):
                listing = await self._cluster.list(self.ref, self._namespace, field_selector=self._field_selector)
                yield self._relisted(listing.items)
                self._pause = _FIRST_PAUSE_S
                async for changes in self._cluster.watch(
                    self.ref, listing.resource_version, self._namespace, field_selector=self._field_selector
                ):
                    yield [self._observed(change) for change in changes]
            await self._clock.sleep(self._pause)
            self._pause = min(self._pause * 2, _LONGEST_PAUSE_S)

    def _relisted(self, items: Iterable[bytes]) -> list[Observation]:
        before, self._known = self._known, {}
        seen: list[Observation] = [self._observed(Change("ADDED", raw)) for raw in items]
        triple = (self.ref.group, self.ref.version, self.ref.plural)
        gone = [
            Vanished(triple, namespace, name, uid)
            for (namespace, name), uid in before.items()
            if self._known.get((namespace, name)) != uid
        ]
        # A name taken over by a new object: its predecessor vanishes before the new one is seen.
        return [*gone, *seen]

    def _observed(self, change: Change) -> Observation:
        meta = _decoder.decode(change.object).metadata
        key = (meta.namespace, meta.name)
        triple = (self.ref.group, self.ref.version, self.ref.plural)
        if change.type == "DELETED":
            self._known.pop(key, None)
            return Vanished(triple, meta.namespace, meta.name, meta.uid)
        self._known[key] = meta.uid
        return Seen(triple, change.object)
